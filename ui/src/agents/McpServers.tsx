// An agent's MCP servers: how each stands and which tools it brings. New or changed tools stay off until they are accepted.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "../api/cache";
import { sentenceOf } from "../api/client";
import { acceptMcpTools, testMcpServer, updateMcpServer } from "../api/operations";
import { useMcpServers, useMyZone } from "../api/queries";
import type { McpServer, McpServerPatch, ToolPolicy } from "../api/types";
import { Loading } from "../parts/EmptyState";
import { Glyph, type Shape } from "../parts/Glyph";
import { ServerText } from "../parts/ServerText";
import { toast, toastError } from "../parts/toasts";
import { plural } from "../parts/words";
import { Relative } from "../time/Time";
import { AddMcpServer } from "./AddMcpServer";
import { policies } from "./ToolRows";

const states: Record<McpServer["state"], [words: string, shape: Shape]> = {
  pending: ["not started yet", "waiting"],
  ready: ["ready", "ok"],
  failing: ["does not start", "error"],
  changed: ["has tools to accept", "waiting"],
  off: ["off", "disabled"],
};

export function McpServers({ agentId }: { agentId: string }) {
  const { data: servers, error } = useMcpServers(agentId);
  return (
    <section aria-labelledby="mcp" className="mt-7">
      <h2 id="mcp" className="!text-small !text-ink">
        MCP servers
      </h2>
      {error && <p className="text-small text-bad">{sentenceOf(error)}</p>}
      {!servers && !error && <Loading rows={1} />}
      {servers && servers.length > 0 && (
        <ul aria-label="MCP servers" className="mt-2 border-t">
          {servers.map((server) => (
            <Row key={server.name} server={server} />
          ))}
        </ul>
      )}
      <AddMcpServer agentId={agentId} />
      <p className="mt-1.5 text-small text-mute">
        “Ask”: each call waits for you. To change or remove a server:{" "}
        <code className="[overflow-wrap:anywhere]">homing mcp-servers update NAME --agent {agentId}</code>
      </p>
    </section>
  );
}

function Row({ server }: { server: McpServer }) {
  const client = useQueryClient();
  const zone = useMyZone();
  const [busy, setBusy] = useState(false);
  const [words, shape] = states[server.state];
  const waiting = server.tools.filter((tool) => !tool.accepted);

  async function act(action: () => Promise<string>) {
    setBusy(true);
    try {
      toast({ text: await action() });
    } catch (error) {
      toastError(error);
    }
    await client.invalidateQueries({ queryKey: keys.agents });
    setBusy(false);
  }

  const test = () =>
    act(async () => {
      const tested = await testMcpServer(server.agent_id, server.name);
      return tested.error ?? `${server.name} works: ${plural(tested.tools.length, "tool")}`;
    });
  const accept = () =>
    act(async () => {
      await acceptMcpTools(server.agent_id, server.name, server.tools_sha256);
      return `Accepted: ${plural(waiting.length, "tool")} of ${server.name}`;
    });

  const change = (patch: McpServerPatch, words: string) =>
    act(async () => {
      await updateMcpServer(server.agent_id, server.name, { ...patch, revision: server.revision });
      return words;
    });

  return (
    <li className="border-b py-2.5">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
        <Glyph shape={shape} />
        <span className="font-semibold">{server.name}</span>
        <span className="text-small text-mute">{words}</span>
        <span className="ml-auto flex flex-wrap items-center gap-2">
          <PolicyChoice
            label={`Tools of ${server.name}`}
            policy={server.policy}
            busy={busy}
            choose={(policy) => void change({ policy }, `Saved: tools of ${server.name}`)}
          />
          {waiting.length > 0 && (
            <button type="button" className="button" disabled={busy} onClick={() => void accept()}>
              Accept {plural(waiting.length, "tool")}
            </button>
          )}
          <button
            type="button"
            className="button"
            aria-label={`${busy ? "Working" : "Test"} ${server.name}`}
            disabled={busy}
            onClick={() => void test()}
          >
            {busy ? "Working" : "Test"}
          </button>
        </span>
      </div>
      <p className="font-mono text-fine text-mute [overflow-wrap:anywhere]">
        {server.url ?? [server.command, ...server.args].join(" ").slice(0, 200)}
      </p>
      {server.error && (
        <p className="text-small text-bad [overflow-wrap:anywhere]">
          <ServerText text={server.error} />
        </p>
      )}
      {server.retry_at && (
        <p className="text-small text-mute">
          Its tools are offered again <Relative at={server.retry_at} zone={zone} />.
        </p>
      )}
      {server.tools.length > 0 && (
        <details className="mt-1" open={waiting.length > 0}>
          <summary className="text-small text-mute hover:text-ink">{plural(server.tools.length, "tool")}</summary>
          <ul className="mt-1 flex flex-col gap-1.5">
            {server.tools.map((tool) => (
              <li key={tool.name} className="text-small">
                <span className="float-right ml-3">
                  <PolicyChoice
                    label={`Tool ${tool.name}`}
                    policy={tool.policy}
                    busy={busy}
                    choose={(policy) =>
                      // A tool that is as its server is follows it again.
                      void change(
                        { tool_policies: { [tool.name]: policy === server.policy ? null : policy } },
                        `Saved: ${tool.name}`,
                      )
                    }
                  />
                </span>
                <code className="font-mono">{tool.name}</code>{" "}
                {!tool.accepted && <span className="text-wait">new or changed, off until accepted </span>}
                {/* What a server says of itself is shown, and never drawn. */}
                <span className="text-mute [overflow-wrap:anywhere]">{tool.description}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

type PolicyProps = { label: string; policy: ToolPolicy; busy: boolean; choose: (policy: ToolPolicy) => void };

function PolicyChoice({ label, policy, busy, choose }: PolicyProps) {
  return (
    <select
      className="field !min-h-8 !w-auto !py-0 text-small"
      aria-label={label}
      value={policy}
      disabled={busy}
      onChange={(event) => choose(event.target.value as ToolPolicy)}
    >
      {policies.map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </select>
  );
}
