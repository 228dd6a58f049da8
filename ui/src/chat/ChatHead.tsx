// The conversation's name, the model's badge, and what can be done to the whole of it.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { placeSession } from "../api/cache";
import { updateSession } from "../api/operations";
import { MAIN_AGENT, useAgentName, useAgents, useStatus } from "../api/queries";
import type { Session } from "../api/types";
import { ChannelMark } from "../parts/ChannelMark";
import { Icon } from "../parts/Icon";
import { Labelled } from "../parts/Labelled";
import { Menu, MenuItem, MenuLine } from "../parts/Menu";
import { Sheet } from "../parts/Sheet";
import { Tooltip } from "../parts/Tooltip";
import { toastError } from "../parts/toasts";
import { plural, titleOf } from "../parts/words";
import { ZoneField } from "../parts/ZoneField";
import { Link, pathTo } from "../router";
import { ModelHelp } from "../settings/ModelHelp";
import { Zone } from "../time/Time";
import { ChangeAgent } from "./ChangeAgent";
import { DeleteSession } from "./DeleteSession";
import { SessionList } from "./SessionList";
import { download, headSheet, setArchived, setPinned } from "./sessionActions";

type ChatHeadProps = {
  session: Session | undefined;
  agentId?: string;
  panel?: { open: boolean; toggle: () => void };
};

/** `agentId` is who will answer where there is no session yet. */
export function ChatHead({ session, agentId = MAIN_AGENT, panel }: ChatHeadProps) {
  const client = useQueryClient();
  const open = headSheet.use((sheet) => sheet);
  const setOpen = headSheet.set;
  const close = () => setOpen(null);
  // Another conversation begins with nothing open.
  useEffect(() => () => headSheet.set(null), []);
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
        {session && <ChannelMark session={session} />}
        {session && (
          <span className="hidden sm:inline">
            <Zone name={session.timezone} />
          </span>
        )}
        <AgentChip id={session?.agent_id ?? agentId} />
      </div>
      <OfflineBadge />
      {session && panel && (
        <Tooltip
          text={session.automations.total ? plural(session.automations.total, "automation") : "Automations here"}
        >
          <button
            type="button"
            className="icon-button max-xs:!w-8"
            aria-label="Automations of this conversation"
            aria-pressed={panel.open}
            onClick={panel.toggle}
          >
            <Icon name="clock" />
          </button>
        </Tooltip>
      )}
      {session && (
        <Menu label="Conversation menu">
          <MenuItem icon="pencil" onSelect={() => setOpen("edit")}>
            Name, time zone and model
          </MenuItem>
          <MenuItem icon="agent" onSelect={() => setOpen("agent")}>
            Change agent
          </MenuItem>
          <MenuItem icon="pin" onSelect={() => void setPinned(client, session, !session.pinned)}>
            {session.pinned ? "Unpin" : "Pin to the top"}
          </MenuItem>
          <MenuItem icon="archive" onSelect={() => void setArchived(client, session, !session.archived)}>
            {session.archived ? "Unarchive" : "Archive"}
          </MenuItem>
          <MenuLine />
          <MenuItem icon="export" onSelect={() => void download(session, "markdown")}>
            Export as Markdown
          </MenuItem>
          <MenuItem icon="export" onSelect={() => void download(session, "json")}>
            Export as JSON
          </MenuItem>
          <MenuItem icon="print" onSelect={() => window.print()}>
            Print
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
        Offline mode<span className="max-xs:sr-only">: not an AI</span>
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
  const [model, setModel] = useState(session.model ?? "");
  const inherited = useAgents().data?.find((agent) => agent.id === session.agent_id)?.model_in_effect;
  const [busy, setBusy] = useState(false);

  async function save(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    try {
      const changes = {
        title: title.trim() || null,
        ...(zone !== session.timezone ? { timezone: zone } : {}),
        ...(model.trim() !== (session.model ?? "") ? { model: model.trim() || null } : {}),
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
    <Sheet title="Name, time zone and model" onClose={onClose}>
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
        <Labelled
          label="Model"
          hint="Leave it empty to use the agent’s. An automation’s own model counts before this one."
        >
          {(wired) => (
            <input
              {...wired}
              className="field"
              value={model}
              maxLength={200}
              autoComplete="off"
              placeholder={inherited}
              onChange={(event) => setModel(event.target.value)}
            />
          )}
        </Labelled>
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
