// Who answers in this conversation. Its automations go along.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { keys, placeSession, refetchSoon } from "../api/cache";
import { updateSession } from "../api/operations";
import { useAgents } from "../api/queries";
import type { Session } from "../api/types";
import { LoadError, Loading } from "../parts/EmptyState";
import { Sheet } from "../parts/Sheet";
import { toast, toastError } from "../parts/toasts";

export function ChangeAgent({ session, onClose }: { session: Session; onClose: () => void }) {
  const client = useQueryClient();
  const { data: agents, error, refetch } = useAgents();
  const [chosen, setChosen] = useState(session.agent_id);
  const [busy, setBusy] = useState(false);

  async function change(agentId: string, revision: number): Promise<Session> {
    const changed = await updateSession(session.key, { agent_id: agentId, revision });
    placeSession(client, changed);
    refetchSoon(client, keys.jobs);
    return changed;
  }

  async function save(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    try {
      const changed = await change(chosen, session.revision);
      toast({
        text: `${agents?.find((agent) => agent.id === chosen)?.name ?? chosen} answers from now on`,
        undo: () => change(session.agent_id, changed.revision),
      });
      onClose();
    } catch (refusal) {
      toastError(refusal);
      setBusy(false);
    }
  }

  return (
    <Sheet title="Change agent" onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <p className="text-mute">
          The automations of this conversation follow. An answer in progress is finished by the agent that began it.
        </p>
        {!agents && (error ? <LoadError error={error} again={() => void refetch()} /> : <Loading rows={2} />)}
        <fieldset className="mt-3 flex max-h-72 flex-col gap-2.5 overflow-y-auto">
          <legend className="sr-only">Agent</legend>
          {agents?.map((agent) => (
            <label key={agent.id} className="flex items-start gap-2.5">
              <input
                type="radio"
                name="agent"
                className="mt-[0.3rem] size-4 flex-none accent-(--color-accent)"
                checked={chosen === agent.id}
                onChange={() => setChosen(agent.id)}
              />
              <span className="min-w-0">
                {agent.name}
                <span className="block text-small text-mute">{agent.model_in_effect}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <div className="mt-5 flex justify-end gap-2">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button" data-look="main" disabled={busy || chosen === session.agent_id}>
            Change
          </button>
        </div>
      </form>
    </Sheet>
  );
}
