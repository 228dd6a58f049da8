// The conversation's name, the model's badge, and what can be done to the whole of it.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { placeSession } from "../api/cache";
import { updateSession } from "../api/operations";
import { MAIN_AGENT, useAgentName, useStatus } from "../api/queries";
import type { Session } from "../api/types";
import { Icon } from "../parts/Icon";
import { Menu, MenuItem, MenuLine } from "../parts/Menu";
import { Sheet } from "../parts/Sheet";
import { toastError } from "../parts/toasts";
import { titleOf } from "../parts/words";
import { ZoneField } from "../parts/ZoneField";
import { Link, pathTo } from "../router";
import { ModelHelp } from "../settings/ModelHelp";
import { Zone } from "../time/Time";
import { ChangeAgent } from "./ChangeAgent";
import { DeleteSession } from "./DeleteSession";
import { SessionList } from "./SessionList";

/** `agentId` is who will answer where there is no session yet. */
export function ChatHead({ session, agentId = MAIN_AGENT }: { session: Session | undefined; agentId?: string }) {
  const [open, setOpen] = useState<"sessions" | "edit" | "agent" | "delete" | null>(null);
  const close = () => setOpen(null);
  return (
    <header className="flex min-h-14 flex-none items-center gap-2 border-b px-2 sm:px-5">
      <button
        type="button"
        className="icon-button md:hidden"
        aria-label="Conversations"
        onClick={() => setOpen("sessions")}
      >
        <Icon name="list" />
      </button>
      <div className="flex min-w-0 flex-1 items-baseline gap-2.5">
        <h1 className="!text-large truncate">{session ? titleOf(session) : "New conversation"}</h1>
        {session && (
          <span className="hidden sm:inline">
            <Zone name={session.timezone} />
          </span>
        )}
        <AgentChip id={session?.agent_id ?? agentId} />
      </div>
      <OfflineBadge />
      {session && (
        <Menu label="Conversation menu">
          <MenuItem icon="pencil" onSelect={() => setOpen("edit")}>
            Name and time zone
          </MenuItem>
          <MenuItem icon="agent" onSelect={() => setOpen("agent")}>
            Change agent
          </MenuItem>
          <MenuLine />
          <MenuItem icon="trash" bad onSelect={() => setOpen("delete")}>
            Delete conversation
          </MenuItem>
        </Menu>
      )}
      {open === "sessions" && (
        <Sheet title="Conversations" drawer="left" onClose={close}>
          <SessionList onChoose={close} />
        </Sheet>
      )}
      {open === "edit" && session && <EditSession session={session} onClose={close} />}
      {open === "agent" && session && <ChangeAgent session={session} onClose={close} />}
      {open === "delete" && session && <DeleteSession session={session} onClose={close} />}
    </header>
  );
}

/** Who answers here, where it is not the usual one. */
function AgentChip({ id }: { id: string }) {
  const name = useAgentName(id);
  if (id === MAIN_AGENT) return null;
  return (
    <Link
      to={pathTo.agent(id)}
      className="max-w-[10rem] flex-none truncate rounded-full border px-2 text-fine text-mute hover:text-ink"
      aria-label={`Agent ${name}`}
    >
      {name}
    </Link>
  );
}

export function OfflineBadge() {
  const status = useStatus().data;
  const [open, setOpen] = useState(false);
  if (!status?.model.offline) return null;
  return (
    <>
      <button
        type="button"
        className="flex-none rounded-full border border-wait bg-wait-tint px-2.5 py-0.5 text-fine text-wait"
        onClick={() => setOpen(true)}
      >
        Offline mode: not an AI
      </button>
      {open && (
        <Sheet title="Offline mode: not an AI" onClose={() => setOpen(false)}>
          <ModelHelp status={status} />
        </Sheet>
      )}
    </>
  );
}

function EditSession({ session, onClose }: { session: Session; onClose: () => void }) {
  const client = useQueryClient();
  const [title, setTitle] = useState(session.title ?? "");
  const [zone, setZone] = useState(session.timezone);
  const [busy, setBusy] = useState(false);

  async function save(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    try {
      const changes = {
        title: title.trim() || null,
        ...(zone !== session.timezone ? { timezone: zone } : {}),
        revision: session.revision,
      };
      placeSession(client, await updateSession(session.key, changes));
      onClose();
    } catch (error) {
      toastError(error);
      setBusy(false);
    }
  }

  return (
    <Sheet title="Name and time zone" onClose={onClose}>
      <form onSubmit={(event) => void save(event)} className="flex flex-col gap-4">
        <label className="flex flex-col gap-1">
          <span className="text-small font-semibold">Name</span>
          <input
            className="field"
            data-first
            value={title}
            maxLength={128}
            placeholder={session.key}
            onChange={(event) => setTitle(event.target.value)}
          />
        </label>
        <ZoneField
          label="Time zone"
          value={zone}
          onChange={setZone}
          hint="New automations of this conversation are read in this zone."
        />
        <div className="flex justify-end gap-2">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button" data-look="main" disabled={busy}>
            Save
          </button>
        </div>
      </form>
    </Sheet>
  );
}
