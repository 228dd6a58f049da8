// One agent: who it is, what it is told, and what it may use. Admins change it here; others see it.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { placeAgent } from "../api/cache";
import { Refusal, sentenceOf } from "../api/client";
import { addAgent, updateAgent } from "../api/operations";
import { MAIN_AGENT, useAgent, useMe, useMyZone, useStatus } from "../api/queries";
import type { Agent, AgentTool, FieldError } from "../api/types";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Fact, Facts } from "../parts/Facts";
import { Icon } from "../parts/Icon";
import { Labelled } from "../parts/Labelled";
import { ServerText } from "../parts/ServerText";
import { toast } from "../parts/toasts";
import { useTitle } from "../parts/useTitle";
import { Link, navigate, pathTo } from "../router";
import { Stamp, Zone } from "../time/Time";
import { Conflict } from "./Conflict";
import {
  changedFields,
  type Definition,
  definitionOf,
  emptyDefinition,
  type Field,
  LONGEST_INSTRUCTIONS,
  pick,
} from "./draft";
import { EntryList } from "./EntryList";
import { HeartbeatFields } from "./HeartbeatFields";
import { McpServers } from "./McpServers";
import { Packages } from "./Packages";
import { RemoveAgent } from "./RemoveAgent";
import { ToolRows } from "./ToolRows";

export default function AgentPage({ agentId }: { agentId: string | null }) {
  // A new one begins with what `main` is offered here.
  const { data: agent, error, isPending, refetch } = useAgent(agentId ?? MAIN_AGENT);
  const me = useMe().data;
  useTitle(agentId === null ? "New agent" : agent?.name);
  if (isPending || !me)
    return (
      <div className="page narrow">
        <Loading rows={6} />
      </div>
    );
  if (error instanceof Refusal && error.status === 404) return <Missing />;
  if (!agent) return <LoadError error={error} again={() => void refetch()} />;
  const admin = me.role === "admin";
  if (agentId === null && !admin) return <EmptyState icon="agent" title="Only an admin can make an agent" />;
  return <Form stored={agentId === null ? null : agent} offered={agent.tools_in_effect} admin={admin} />;
}

function Missing() {
  return (
    <EmptyState icon="agent" title="There is no such agent">
      <Link to="/agents" className="link">
        Show all agents
      </Link>
    </EmptyState>
  );
}

type Refused = { fields: FieldError[]; sentence: string | null; times: number };
const ACCEPTED: Refused = { fields: [], sentence: null, times: 0 };
const levels = ["off", "on", "minimal", "low", "medium", "high", "xhigh", "max"];

function Form({ stored, offered, admin }: { stored: Agent | null; offered: AgentTool[]; admin: boolean }) {
  const client = useQueryClient();
  const server = useStatus().data?.model.name ?? "…";
  // What the form began with. Somebody else's change comes in by itself only while nothing is typed here.
  const [base, setBase] = useState(stored);
  const before = base ? definitionOf(base) : emptyDefinition;
  const [draft, setDraft] = useState<Definition>(before);
  const [warnings, setWarnings] = useState(stored?.warnings ?? []);
  const [theirs, setTheirs] = useState<Agent | null>(null);
  const [refused, setRefused] = useState(ACCEPTED);
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const changed = changedFields(before, draft);
  const tooLong = draft.instructions.length - LONGEST_INSTRUCTIONS;

  if (stored && base && stored.revision > base.revision && changed.length === 0) {
    setBase(stored);
    setDraft(definitionOf(stored));
  }

  // A refused field may be out of sight.
  useEffect(() => {
    if (refused.times === 0) return;
    const wrong = form.current?.querySelector<HTMLElement>("[aria-invalid=true]");
    wrong?.focus({ preventScroll: true });
    wrong?.scrollIntoView({ block: "center" });
  }, [refused.times]);

  function set(changes: Partial<Definition>) {
    setDraft({ ...draft, ...changes });
    const mended = (field: FieldError) => Object.keys(changes).includes(rootOf(field));
    setRefused((now) => ({ ...now, fields: now.fields.filter((field) => !mended(field)) }));
    if ("model" in changes) setWarnings([]);
  }

  const errorOf = (field: Field) =>
    refused.fields
      .filter((one) => rootOf(one) === field)
      .map((one) => one.detail)
      .join(" ") || null;
  const beatError = (name: string) => refused.fields.find((one) => one.field === `heartbeat.${name}`)?.detail ?? null;
  const elsewhere = refused.fields.filter((one) => !(rootOf(one) in before));

  function settle(saved: Agent) {
    placeAgent(client, saved);
    setBase(saved);
    setDraft(definitionOf(saved));
    setWarnings(saved.warnings ?? []);
    setTheirs(null);
    setRefused(ACCEPTED);
  }

  /** Send what was changed; `over` is the version of somebody else that it goes over. */
  async function save(over: Agent | null = null) {
    if (tooLong > 0) return setRefused((now) => ({ ...now, times: now.times + 1 }));
    setBusy(true);
    try {
      if (base === null) {
        const made = await addAgent({ ...pick(draft, changed), name: draft.name });
        placeAgent(client, made);
        toast({ text: `Created: ${made.name}`, warnings: made.warnings });
        navigate(pathTo.agent(made.id), { replace: true });
        return;
      }
      const last = over ?? base;
      const saved = await updateAgent(base.id, { ...pick(draft, changed), revision: last.revision });
      settle(saved);
      toast({ text: `Saved: ${saved.name}`, warnings: saved.warnings, undo: () => takeBack(saved, last) });
    } catch (error) {
      if (error instanceof Refusal && error.code === "stale_revision") setTheirs(error.problem.current as Agent);
      else {
        const fields = error instanceof Refusal ? error.fields : [];
        const sentence = fields.length === 0 ? sentenceOf(error) : null;
        setRefused(({ times }) => ({ fields, sentence, times: times + 1 }));
      }
    }
    setBusy(false);
  }

  async function takeBack(saved: Agent, last: Agent) {
    const undone = await updateAgent(saved.id, { ...pick(definitionOf(last), changed), revision: saved.revision });
    settle(undone);
    toast({ text: `Undone: ${undone.name}` });
  }

  return (
    <form
      ref={form}
      className="page narrow"
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void save();
      }}
    >
      <Link to="/agents" className="mb-3 inline-flex items-center gap-1 text-small text-mute hover:text-ink">
        <Icon name="back" size={14} /> Agents
      </Link>
      <header className="mb-6 flex flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className="min-w-0 [overflow-wrap:anywhere]">{base ? base.name : "New agent"}</h1>
        {base && <code className="font-mono text-fine text-mute">{base.id}</code>}
        {base && (
          <Link
            to={base.id === MAIN_AGENT ? "/chat" : pathTo.newChat(base.id)}
            className="button ml-auto !h-auto max-w-full !whitespace-normal"
          >
            <Icon name="chat" size={15} className="flex-none" /> New conversation with {base.name}
          </Link>
        )}
      </header>
      {!admin && <p className="mb-5 rounded-md bg-tint px-4 py-2.5 text-mute">Only an admin can change an agent.</p>}
      <fieldset disabled={!admin} className="flex flex-col gap-5">
        <legend className="sr-only">Definition</legend>
        <Labelled label="Name" error={errorOf("name")}>
          {(props) => (
            <input
              className="field"
              maxLength={128}
              value={draft.name}
              autoComplete="off"
              onChange={(event) => set({ name: event.target.value })}
              {...props}
            />
          )}
        </Labelled>
        <div className="grid gap-5 sm:grid-cols-[minmax(0,1fr)_13rem]">
          <Labelled
            label="Model"
            hint={draft.model ? undefined : `Empty: the server’s, now ${server}.`}
            error={errorOf("model")}
          >
            {(props) => (
              <input
                className="field"
                value={draft.model ?? ""}
                autoComplete="off"
                spellCheck={false}
                placeholder="provider:model"
                onChange={(event) => set({ model: event.target.value.trim() || null })}
                {...props}
              />
            )}
          </Labelled>
          <Labelled label="Thinking" error={errorOf("thinking")}>
            {(props) => (
              <select
                className="field"
                value={draft.thinking ?? ""}
                onChange={(event) => set({ thinking: event.target.value || null })}
                {...props}
              >
                <option value="">The model’s default</option>
                {levels.map((level) => (
                  <option key={level} value={level}>
                    {level}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
        </div>
        {warnings.length > 0 && (
          <ul className="-mt-3" aria-label="Warnings">
            {warnings.map((warning) => (
              <li key={warning} className="flex items-start gap-2 text-small text-wait">
                <Icon name="note" size={15} className="mt-1 flex-none" />
                <span>
                  <ServerText text={warning} />
                </span>
              </li>
            ))}
          </ul>
        )}
        {(admin || stored?.instructions) && (
          <Labelled
            label="Instructions"
            hint={`${draft.instructions.length.toLocaleString("en-GB")} of ${LONGEST_INSTRUCTIONS.toLocaleString("en-GB")} characters. ${base ? "" : "Left empty, it gets the usual ones. "}They count from its next answer on.`}
            error={
              tooLong > 0
                ? `${tooLong.toLocaleString("en-GB")} characters too long: at most ${LONGEST_INSTRUCTIONS.toLocaleString("en-GB")}. Nothing was cut; shorten it before you save.`
                : errorOf("instructions")
            }
          >
            {(props) => (
              <textarea
                className="field leading-snug"
                rows={12}
                value={draft.instructions}
                onChange={(event) => set({ instructions: event.target.value })}
                {...props}
              />
            )}
          </Labelled>
        )}
        <ToolRows
          offered={offered}
          tools={draft.tools}
          admin={admin}
          error={errorOf("tools")}
          onChange={(tools) => set({ tools })}
        />
        {admin && (
          <>
            <EntryList
              label="Hosts"
              one="host"
              hint="What its programs and MCP servers may reach, and what fetch_url may reach beyond the public web: example.org, *.example.org, or 127.0.0.1:8080 with its port."
              entries={draft.hosts}
              error={errorOf("hosts")}
              onChange={(hosts) => set({ hosts })}
            />
            <EntryList
              label="Secrets"
              one="secret"
              hint="Names only, such as GITHUB_TOKEN. The values are set on the server as HOMING_SECRET_GITHUB_TOKEN and given to its MCP servers alone."
              entries={draft.secrets}
              error={errorOf("secrets")}
              onChange={(secrets) => set({ secrets })}
            />
            <HeartbeatFields beat={draft.heartbeat} errorOf={beatError} onChange={(heartbeat) => set({ heartbeat })} />
          </>
        )}
      </fieldset>
      {stored && admin && <Packages agent={stored} />}
      {base && admin && <McpServers agentId={base.id} />}
      {base && <OnRecord agent={base} />}
      {base && admin && base.id !== MAIN_AGENT && <RemoveAgent agent={base} />}
      <div aria-live="assertive">
        {refused.sentence && (
          <p className="mt-4 text-bad">
            <ServerText text={refused.sentence} />
          </p>
        )}
        {elsewhere.map((field) => (
          <p key={field.field} className="mt-2 text-bad">
            {field.field}: {field.detail}
          </p>
        ))}
      </div>
      {theirs && base && (
        <Conflict
          before={before}
          mine={draft}
          theirs={theirs}
          busy={busy}
          onOver={() => void save(theirs)}
          onTheirs={() => settle(theirs)}
        />
      )}
      {admin && (
        <div className="sticky bottom-0 mt-6 flex items-center justify-end gap-2 border-t bg-paper py-3">
          {base && changed.length > 0 && (
            <button type="button" className="button" data-look="plain" onClick={() => setDraft(before)}>
              Discard changes
            </button>
          )}
          {!base && (
            <Link to="/agents" className="button">
              Cancel
            </Link>
          )}
          <button
            type="submit"
            className="button"
            data-look="main"
            disabled={busy || theirs !== null || (base !== null && changed.length === 0)}
          >
            {busy ? "Saving" : base ? "Save" : "Create"}
          </button>
        </div>
      )}
    </form>
  );
}

/** A refusal names a part of a field too, such as `tools.fetch_url` or `hosts.2`. */
const rootOf = ({ field }: FieldError) => field.split(".")[0] ?? field;

function OnRecord({ agent }: { agent: Agent }) {
  const zone = useMyZone();
  return (
    <section aria-label="On record" className="mt-7">
      <Facts>
        <Fact name="Created">
          <Stamp at={agent.created_at} zone={zone} />
        </Fact>
        <Fact name="Last changed">
          <Stamp at={agent.updated_at} zone={zone} /> <Zone name={`revision ${agent.revision}`} />
        </Fact>
      </Facts>
    </section>
  );
}
