// Which agents may write to which, and into which conversations: listed, added, taken back.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { sentenceOf } from "../api/client";
import { allowTalk, listGrants, removeGrant } from "../api/operations";
import { useAgents } from "../api/queries";
import type { Grant } from "../api/types";
import { ConfirmButton } from "../parts/ConfirmButton";
import { toast, toastError } from "../parts/toasts";

export function AgentTalk() {
  const client = useQueryClient();
  const agents = useAgents().data ?? [];
  const granted = useQuery({ queryKey: ["grants"], queryFn: listGrants });
  const talks = (granted.data?.items ?? []).filter((grant) => grant.to_agent_id !== null || grant.session_key !== null);
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [refused, setRefused] = useState<string | null>(null);
  const again = () => client.invalidateQueries({ queryKey: ["grants"] });
  const nameOf = (id: string) => agents.find((agent) => agent.id === id)?.name ?? id;
  const target = (grant: Grant) => (grant.to_agent_id !== null ? nameOf(grant.to_agent_id) : grant.session_key);

  async function add(event: FormEvent) {
    event.preventDefault();
    setRefused(null);
    try {
      await allowTalk(from, to);
      toast({ text: `${nameOf(from)} may write to ${nameOf(to)}` });
      setTo("");
      await again();
    } catch (error) {
      setRefused(sentenceOf(error));
    }
  }

  async function remove(grant: Grant) {
    try {
      await removeGrant(grant.id);
      toast({ text: `${nameOf(grant.agent_id)} no longer writes to ${target(grant)}` });
      await again();
    } catch (error) {
      toastError(error);
    }
  }

  return (
    <>
      <p className="mb-2 text-mute">
        An agent that is asked answers in its own conversation in your list. The answer goes back to the agent that
        asked.
      </p>
      {granted.isError && <p className="text-bad">{sentenceOf(granted.error)}</p>}
      <ul>
        {talks.map((grant) => (
          <li key={grant.id} className="flex flex-wrap items-baseline gap-x-3 border-b py-1.5">
            <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
              {nameOf(grant.agent_id)} may write to {target(grant)}
              {grant.paused_until !== null && <span className="text-small text-mute"> (paused: it kept writing)</span>}
            </span>
            <ConfirmButton
              label={`Remove: ${nameOf(grant.agent_id)} may write to ${target(grant)}`}
              text="Remove"
              question="Take it back?"
              onConfirm={() => void remove(grant)}
            />
          </li>
        ))}
      </ul>
      <form onSubmit={(event) => void add(event)} className="mt-2 flex flex-wrap items-center gap-2">
        <AgentChoice label="Agent that writes" value={from} change={setFrom} agents={agents} />
        <span className="text-mute">may write to</span>
        <AgentChoice label="Agent that is asked" value={to} change={setTo} agents={agents} />
        <button type="submit" className="button" disabled={from === "" || to === ""}>
          Allow
        </button>
      </form>
      {refused && (
        <p role="alert" className="mt-1 text-small text-bad">
          {refused}
        </p>
      )}
    </>
  );
}

type ChoiceProps = {
  label: string;
  value: string;
  change: (id: string) => void;
  agents: { id: string; name: string }[];
};

function AgentChoice({ label, value, change, agents }: ChoiceProps) {
  return (
    <select aria-label={label} className="field !w-auto" value={value} onChange={(event) => change(event.target.value)}>
      <option value="">Choose an agent</option>
      {agents.map((agent) => (
        <option key={agent.id} value={agent.id} className="bg-paper">
          {agent.name}
        </option>
      ))}
    </select>
  );
}
