// What this person and this server are set to. What belongs to the server's environment is shown, not changed.
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { keys } from "../api/cache";
import { notifySignedOut } from "../api/client";
import { signOut, updateMe } from "../api/operations";
import { useMe, useStatus } from "../api/queries";
import { canNotify, notifying, turnNotify } from "../chat/notify";
import { Loading } from "../parts/EmptyState";
import { Fact, Facts } from "../parts/Facts";
import { toast, toastError } from "../parts/toasts";
import { useTitle } from "../parts/useTitle";
import { ZoneField } from "../parts/ZoneField";
import { turnPushOff } from "../push";
import { Link } from "../router";
import { browserZone, knownZone } from "../time/format";
import { Stamp } from "../time/Time";
import { Addresses } from "./Addresses";
import { AgentTalk } from "./AgentTalk";
import { Channels } from "./Channels";
import { Contacts } from "./Contacts";
import { Memories } from "./Memories";
import { ModelHelp } from "./ModelHelp";
import { ModelSetting } from "./ModelSetting";
import { People } from "./People";
import { Push } from "./Push";
import { Tokens } from "./Tokens";

export default function SettingsPage() {
  useTitle("Settings");
  return (
    <div className="page narrow">
      <h1>Settings</h1>
      <Part title="Model">
        <Model />
      </Part>
      <Part title="Time zone">
        <MyZone />
      </Part>
      <Part title="Appearance">
        <Theme />
      </Part>
      <Part title="Notifications">
        <Notify />
        <Push />
      </Part>
      <Part title="Usage">
        <Link to="/usage" className="link">
          What your model calls used and cost
        </Link>
      </Part>
      <Part title="Channels">
        <Channels />
      </Part>
      <Part title="Contacts">
        <Contacts />
      </Part>
      <Part title="Addresses">
        <Addresses />
      </Part>
      <Part title="Agents that write to each other">
        <AgentTalk />
      </Part>
      <Part title="Memory">
        <Memories />
      </Part>
      <Part title="Tokens">
        <Tokens />
      </Part>
      <ForAdmins />
      <Part title="Server">
        <Server />
      </Part>
      <SignOut />
    </div>
  );
}

/** Only admins see other people; everyone's own tokens are above. */
function ForAdmins() {
  if (useMe().data?.role !== "admin") return null;
  return (
    <Part title="People">
      <People />
    </Part>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="mt-7 border-t pt-4">
      <h2 className="mb-3 !text-small !text-ink">{title}</h2>
      {children}
    </section>
  );
}

function Model() {
  const me = useMe().data;
  const status = useStatus().data;
  if (!me || !status) return <Loading rows={1} />;
  return me.role === "admin" ? <ModelSetting /> : <ModelHelp status={status} />;
}

function MyZone() {
  const client = useQueryClient();
  const me = useMe().data;
  const [zone, setZone] = useState<string | null>(null);
  if (!me) return <Loading rows={1} />;
  const shown = zone ?? me.timezone ?? browserZone;
  const changed = shown !== me.timezone && knownZone(shown);

  async function save(next: string) {
    try {
      client.setQueryData(keys.me, await updateMe({ timezone: next }));
      setZone(null);
      toast({ text: `Your time zone is ${next}` });
    } catch (error) {
      toastError(error);
    }
  }

  return (
    <form
      className="flex flex-wrap items-start gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void save(shown);
      }}
    >
      <div className="w-full max-w-[20rem]">
        <ZoneField
          label="Your time zone"
          value={shown}
          onChange={setZone}
          hint="New conversations and phrases like “tomorrow at 9” are read in it. Existing automations keep theirs."
        />
      </div>
      <div className="flex flex-wrap gap-2 sm:pt-[1.6rem]">
        <button type="submit" className="button" disabled={!changed}>
          Save
        </button>
        {me.timezone !== browserZone && (
          <button type="button" className="button" data-look="plain" onClick={() => void save(browserZone)}>
            Use {browserZone}
          </button>
        )}
      </div>
    </form>
  );
}

const themes = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;

function Theme() {
  const [theme, setTheme] = useState(() => localStorage.getItem("homing.theme") ?? "system");
  function choose(next: string) {
    setTheme(next);
    if (next === "system") {
      localStorage.removeItem("homing.theme");
      delete document.documentElement.dataset.theme;
    } else {
      localStorage.setItem("homing.theme", next);
      document.documentElement.dataset.theme = next;
    }
  }
  return (
    <fieldset className="flex flex-wrap gap-x-6 gap-y-2">
      <legend className="sr-only">Theme</legend>
      {themes.map(([value, name]) => (
        <label key={value} className="flex items-center gap-2">
          <input
            type="radio"
            name="theme"
            className="size-4 accent-(--color-accent)"
            checked={theme === value}
            onChange={() => choose(value)}
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

function Notify() {
  const [on, setOn] = useState(notifying);
  if (!canNotify()) return <p className="text-mute">This browser has no notifications.</p>;
  return (
    <label className="flex items-center gap-2.5">
      <input
        type="checkbox"
        className="size-4 accent-(--color-accent)"
        checked={on}
        onChange={(event) => void turnNotify(event.target.checked).then(setOn)}
      />
      Tell me about reminders and scheduled answers while this tab is in the background
    </label>
  );
}

function Server() {
  const status = useStatus().data;
  if (!status) return <Loading rows={2} />;
  const { scheduler } = status;
  return (
    <Facts>
      <Fact name="Version">{status.version}</Fact>
      <Fact name="Database">{status.database}</Fact>
      <Fact name="Time zone">{status.timezone}</Fact>
      <Fact name="Scheduler">
        {scheduler.enabled
          ? `on, ${scheduler.workers} ${scheduler.workers === 1 ? "worker" : "workers"}`
          : "off: nothing fires"}
      </Fact>
      {scheduler.next_wake_at && (
        <Fact name="Next wake">
          <Stamp at={scheduler.next_wake_at} zone={status.timezone} seconds />
        </Fact>
      )}
    </Facts>
  );
}

function SignOut() {
  async function leave() {
    try {
      // Whoever comes next must not be shown this person's notifications.
      await turnPushOff().catch(toastError);
      await signOut();
      notifySignedOut();
    } catch (error) {
      toastError(error);
    }
  }
  return (
    <div className="mt-7 border-t pt-4">
      <button type="button" className="button" onClick={() => void leave()}>
        Sign out
      </button>
    </div>
  );
}
