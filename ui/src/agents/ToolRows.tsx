// The tools of an agent, one a row: what it does, whether it may be used, and why it is missing on this server.
import type { AgentTool, ToolPolicy } from "../api/types";
import { ServerText } from "../parts/ServerText";
import { type Definition, policyOf, withPolicy } from "./draft";
import { toolSentence } from "./toolWords";

type Tools = Definition["tools"];
type ToolRowsProps = {
  offered: AgentTool[];
  tools: Tools;
  admin: boolean;
  error: string | null;
  onChange: (tools: Tools) => void;
};

export function ToolRows({ offered, tools, admin, error, onChange }: ToolRowsProps) {
  return (
    <section aria-labelledby="tools">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h2 id="tools" className="!text-small !text-ink">
          Tools
        </h2>
        <p className="text-small text-mute">
          {tools === null
            ? "The defaults of this version; later versions may add to them."
            : "Chosen here; a tool of a later version stays off until you allow it."}
        </p>
        {admin && tools !== null && (
          <button type="button" className="link ml-auto text-small" onClick={() => onChange(null)}>
            Reset to defaults
          </button>
        )}
      </div>
      {error && (
        <p role="alert" className="mt-1 text-small text-bad">
          {error}
        </p>
      )}
      <ul className="mt-2 border-t">
        {offered.map((tool) => (
          <Row
            key={tool.name}
            tool={tool}
            policy={policyOf(tool, tools)}
            choose={(policy) => onChange(withPolicy(offered, tools, tool.name, policy))}
          />
        ))}
      </ul>
      <p className="mt-1.5 text-small text-mute">
        “Ask”: each call waits for you. It appears in its conversation and in your inbox; until you approve it, it is
        not made.
      </p>
    </section>
  );
}

/** What only reads Homing's own rows has nothing to ask for, and what is a request itself is never simply allowed. */
const mayBe = (tool: AgentTool, policy: ToolPolicy) => tool.policies.includes(policy);

export const policies: [ToolPolicy, string][] = [
  ["allow", "Allow"],
  ["ask", "Ask"],
  ["deny", "Deny"],
];

type RowProps = { tool: AgentTool; policy: ToolPolicy; choose: (policy: ToolPolicy) => void };

function Row({ tool, policy, choose }: RowProps) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b py-2">
      <div className="min-w-0 flex-1 basis-[17rem]">
        <p className="font-mono text-[0.93em]">{tool.name}</p>
        <p className="text-small text-mute">{toolSentence(tool.name)}</p>
        {tool.why && policy !== "deny" && (
          <p className="text-small text-wait">
            Not available here: <ServerText text={tool.why} />
          </p>
        )}
      </div>
      <fieldset className="flex flex-none gap-x-4">
        <legend className="sr-only">{tool.name}</legend>
        {policies.map(([value, label]) => (
          <label key={value} className={`flex items-center gap-1.5 ${mayBe(tool, value) ? "" : "text-mute"}`}>
            <input
              type="radio"
              name={`tool-${tool.name}`}
              className="size-4 accent-(--color-accent)"
              checked={policy === value}
              disabled={!mayBe(tool, value)}
              onChange={() => choose(value)}
            />
            {label}
          </label>
        ))}
      </fieldset>
    </li>
  );
}
