// All agents: what each is called, which model answers, and what it can use.
import { MAIN_AGENT, useAgents, useMe } from "../api/queries";
import type { Agent } from "../api/types";
import { LoadError, Loading } from "../parts/EmptyState";
import { Icon } from "../parts/Icon";
import { useTitle } from "../parts/useTitle";
import { Link, pathTo } from "../router";
import { toolsInWords } from "./toolWords";

export default function AgentsPage() {
  useTitle("Agents");
  const { data: agents, error, isPending, refetch } = useAgents();
  const admin = useMe().data?.role === "admin";
  return (
    <div className="page wide">
      <header className="flex items-center justify-between gap-4">
        <h1>Agents</h1>
        {admin && (
          <Link to="/agents/new" className="button" data-look="main">
            <Icon name="plus" size={16} /> New agent
          </Link>
        )}
      </header>
      <p className="mt-2 max-w-[44rem] text-mute">
        An agent is who answers in a conversation: its instructions, its model and the tools it may use.
      </p>
      {isPending && <Loading rows={3} />}
      {error && !agents && <LoadError error={error} again={() => void refetch()} />}
      {agents && (
        <ul aria-label="Agents" className="mt-4 border-t">
          {agents.map((agent) => (
            <AgentRow key={agent.id} agent={agent} />
          ))}
        </ul>
      )}
    </div>
  );
}

function AgentRow({ agent }: { agent: Agent }) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b py-3">
      <div className="min-w-0 flex-1 basis-[16rem]">
        <p className="flex items-baseline gap-2.5">
          <Link to={pathTo.agent(agent.id)} className="truncate font-semibold hover:underline">
            {agent.name}
          </Link>
          <code className="truncate font-mono text-fine text-mute">{agent.id}</code>
        </p>
        <p className="text-small text-mute">{toolsInWords(agent)}</p>
      </div>
      <span className="text-small text-mute [overflow-wrap:anywhere] sm:w-56">{agent.model_in_effect}</span>
      <Link
        to={agent.id === MAIN_AGENT ? "/chat" : pathTo.newChat(agent.id)}
        className="button"
        aria-label={`Talk to ${agent.name}`}
      >
        <Icon name="chat" size={15} /> Talk
      </Link>
    </li>
  );
}
