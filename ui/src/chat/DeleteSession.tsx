// Deleting takes two steps where automations hang on a conversation: first they are named, then all goes together.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys, placeSession, refetchSoon } from "../api/cache";
import { Refusal } from "../api/client";
import { deleteSession } from "../api/operations";
import type { BlockingJob, Session } from "../api/types";
import { Glyph } from "../parts/Glyph";
import { Sheet } from "../parts/Sheet";
import { toast, toastError } from "../parts/toasts";
import { plural, titleOf } from "../parts/words";
import { navigate } from "../router";

export function DeleteSession({ session, onClose }: { session: Session; onClose: () => void }) {
  const client = useQueryClient();
  const [blocking, setBlocking] = useState<BlockingJob[] | null>(null);
  const [busy, setBusy] = useState(false);

  async function remove(withAutomations: boolean) {
    setBusy(true);
    try {
      await deleteSession(session.key, withAutomations);
      leave();
    } catch (error) {
      if (error instanceof Refusal && error.code === "blocked_by_automations")
        setBlocking(error.problem.automations ?? []);
      else toastError(error);
      setBusy(false);
    }
  }

  function leave() {
    onClose();
    if (localStorage.getItem("homing.last") === session.key) localStorage.removeItem("homing.last");
    placeSession(client, { ...session, deleted_at: new Date().toISOString() });
    navigate("/", { replace: true });
    client.removeQueries({ queryKey: keys.session(session.key) });
    client.removeQueries({ queryKey: keys.messages(session.key) });
    refetchSoon(client, keys.jobs, 0);
    toast({ text: `Deleted: ${titleOf(session)}` });
  }

  if (blocking === null)
    return (
      <Sheet title="Delete this conversation?" onClose={onClose}>
        <p className="text-mute">“{titleOf(session)}” and its messages will be gone. This cannot be undone.</p>
        <Buttons busy={busy} onClose={onClose} onGo={() => void remove(false)} go="Delete conversation" />
      </Sheet>
    );
  return (
    <Sheet
      key="blocked"
      title={`${plural(blocking.length, "automation")} ${blocking.length === 1 ? "belongs" : "belong"} to it`}
      onClose={onClose}
    >
      <p className="text-mute">
        Nothing has been deleted yet. These run in this conversation and would be deleted with it:
      </p>
      <ul className="mt-3 max-h-60 divide-y overflow-y-auto border-y" aria-label="Automations that block the deletion">
        {blocking.map((job) => (
          <li key={job.id} className="flex items-center gap-2.5 py-2">
            <Glyph shape={job.enabled ? "ok" : "disabled"} label={job.enabled ? "Active" : "Paused"} />
            <span className="min-w-0 truncate">{job.name}</span>
            <span className="ml-auto text-small text-mute">{job.enabled ? "active" : "paused"}</span>
          </li>
        ))}
      </ul>
      <Buttons
        busy={busy}
        onClose={onClose}
        onGo={() => void remove(true)}
        go={`Delete ${blocking.length === 1 ? "it" : "them"} and the conversation`}
      />
    </Sheet>
  );
}

function Buttons({ busy, onClose, onGo, go }: { busy: boolean; onClose: () => void; onGo: () => void; go: string }) {
  return (
    <div className="mt-5 flex flex-wrap justify-end gap-2">
      <button type="button" className="button" data-first onClick={onClose}>
        Keep
      </button>
      <button type="button" className="button" data-look="bad" disabled={busy} onClick={onGo}>
        {go}
      </button>
    </div>
  );
}
