// Giving an agent an MCP server: a program on this machine, or a server over HTTP. It is started once before it is kept.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { createPortal } from "react-dom";
import { keys } from "../api/cache";
import { Refusal, sentenceOf } from "../api/client";
import { addMcpServer } from "../api/operations";
import { Icon } from "../parts/Icon";
import { Labelled } from "../parts/Labelled";
import { ServerText } from "../parts/ServerText";
import { Sheet } from "../parts/Sheet";
import { toast } from "../parts/toasts";
import { plural } from "../parts/words";
import { asked, emptyForm, type ServerForm, unreadable } from "./serverDraft";

export function AddMcpServer({ agentId }: { agentId: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button mt-3" onClick={() => setOpen(true)}>
        <Icon name="plus" size={15} /> Add MCP server
      </button>
      {/* A form cannot stand in another one, and the agent's is around this. */}
      {open &&
        createPortal(
          <Sheet title="Add an MCP server" onClose={() => setOpen(false)} wide>
            <Form agentId={agentId} close={() => setOpen(false)} />
          </Sheet>,
          document.body,
        )}
    </>
  );
}

function Form({ agentId, close }: { agentId: string; close: () => void }) {
  const client = useQueryClient();
  const [form, setForm] = useState<ServerForm>(emptyForm);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<unknown>(null);
  const program = form.kind === "stdio";
  const wrong = unreadable(form.values);

  function set(changed: Partial<ServerForm>) {
    setForm({ ...form, ...changed });
    setRefused(null);
  }

  /** What the server says about one of these fields; about `args.1` at `args`. */
  function errorOf(...fields: string[]): string | null {
    if (!(refused instanceof Refusal)) return null;
    const found = refused.fields.find((error) => fields.includes(error.field.split(".")[0] ?? ""));
    return found?.detail ?? null;
  }

  const atFields = ["name", "command", "args", "url", "env", "headers", "hosts", "policy"];
  const general = refused !== null && errorOf(...atFields) === null ? sentenceOf(refused) : null;

  async function save(event: FormEvent) {
    event.preventDefault();
    event.stopPropagation(); // React would take it to the agent's form, which would save the agent.
    setBusy(true);
    try {
      const made = await addMcpServer(agentId, asked(form));
      await client.invalidateQueries({ queryKey: keys.agents });
      toast({
        text: made.error
          ? `Added ${made.name}, but it does not start. Its error stands below its name.`
          : `Added ${made.name}: ${plural(made.tools.length, "tool")}`,
      });
      close();
    } catch (error) {
      setRefused(error);
      setBusy(false);
    }
  }

  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void save(event)}>
      <Labelled label="Name" hint="Small letters, digits and -, such as time." error={errorOf("name")}>
        {(wired) => (
          <input
            {...wired}
            data-first
            className="field"
            required
            maxLength={24}
            autoComplete="off"
            spellCheck={false}
            value={form.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Labelled>
      <fieldset className="flex flex-wrap gap-x-5 gap-y-1">
        <legend className="text-small font-semibold">Kind</legend>
        <label className="flex items-center gap-2">
          <input type="radio" name="kind" checked={program} onChange={() => set({ kind: "stdio" })} /> Program on this
          machine
        </label>
        <label className="flex items-center gap-2">
          <input type="radio" name="kind" checked={!program} onChange={() => set({ kind: "http" })} /> Server over HTTP
        </label>
      </fieldset>
      {program ? (
        <>
          <Labelled
            label="Command"
            hint="The program, such as /opt/time/bin/mcp-server-time. It runs in the sandbox."
            error={errorOf("command")}
          >
            {(wired) => (
              <input
                {...wired}
                className="field font-mono"
                required
                autoComplete="off"
                spellCheck={false}
                value={form.command}
                onChange={(event) => set({ command: event.target.value })}
              />
            )}
          </Labelled>
          <Lines
            label="Arguments"
            hint="One per line."
            error={errorOf("args")}
            text={form.args}
            onChange={(args) => set({ args })}
          />
        </>
      ) : (
        <Labelled
          label="URL"
          hint="https://HOST/PATH. Plain http needs its host and port in the agent's hosts."
          error={errorOf("url")}
        >
          {(wired) => (
            <input
              {...wired}
              className="field font-mono"
              required
              inputMode="url"
              autoComplete="off"
              spellCheck={false}
              value={form.url}
              onChange={(event) => set({ url: event.target.value })}
            />
          )}
        </Labelled>
      )}
      <Lines
        label={program ? "Variables" : "Headers"}
        hint="NAME=VALUE, one per line. NAME=secret:NAME gives it a secret of the agent; the value stays on the server."
        error={errorOf("env", "headers") ?? (wrong === null ? null : `Write NAME=VALUE instead of ${wrong}`)}
        text={form.values}
        onChange={(values) => set({ values })}
      />
      {program && (
        <Lines
          label="Hosts"
          hint="What the program may reach, one per line. Empty: nothing."
          error={errorOf("hosts")}
          text={form.hosts}
          onChange={(hosts) => set({ hosts })}
        />
      )}
      <Labelled
        label="Policy"
        hint="What the agent may do with its tools, unless a tool has a policy of its own."
        error={errorOf("policy")}
        narrow
      >
        {(wired) => (
          <select
            {...wired}
            className="field"
            value={form.policy}
            onChange={(event) => set({ policy: event.target.value as ServerForm["policy"] })}
          >
            <option value="">Default</option>
            <option value="allow">Allow</option>
            <option value="ask">Ask</option>
            <option value="deny">Deny</option>
          </select>
        )}
      </Labelled>
      {general && (
        <p role="alert" className="text-small text-bad [overflow-wrap:anywhere]">
          <ServerText text={general} />
        </p>
      )}
      <p className="text-small text-mute">It is started once now. The tools it has then are accepted with it.</p>
      <div className="flex flex-wrap justify-end gap-2">
        <button type="button" className="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" className="button" data-look="main" disabled={busy || wrong !== null}>
          {busy ? "Starting it" : "Add"}
        </button>
      </div>
    </form>
  );
}

type LinesProps = {
  label: string;
  hint: string;
  error: string | null;
  text: string;
  onChange: (text: string) => void;
};

function Lines({ label, hint, error, text, onChange }: LinesProps) {
  return (
    <Labelled label={label} hint={hint} error={error}>
      {(wired) => (
        <textarea
          {...wired}
          className="field font-mono"
          rows={2}
          spellCheck={false}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Labelled>
  );
}
