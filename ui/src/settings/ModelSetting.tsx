// Which model answers, and how another is chosen: a key pasted, or a server found. It is tried before it is kept.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { keys } from "../api/cache";
import { Refusal } from "../api/client";
import { getModel, listModels, setModel } from "../api/operations";
import type { ModelDraft, ModelList, ModelSetting as Setting } from "../api/types";
import { LoadError, Loading } from "../parts/EmptyState";
import { Labelled } from "../parts/Labelled";
import { toast, toastError } from "../parts/toasts";
import { plural } from "../parts/words";
import { Link, pathTo } from "../router";

const OTHER = "other";
const LOCAL = "local";

export function ModelSetting() {
  const setting = useQuery({ queryKey: keys.model, queryFn: getModel });
  if (setting.isError) return <LoadError error={setting.error} again={() => void setting.refetch()} />;
  if (!setting.data) return <Loading rows={2} />;
  return (
    <div className="space-y-4">
      <InUse setting={setting.data} />
      {setting.data.cannot_set ? (
        <p className="text-mute">{setting.data.cannot_set}</p>
      ) : (
        <Choose key={setting.data.model} setting={setting.data} />
      )}
    </div>
  );
}

function InUse({ setting }: { setting: Setting }) {
  const { agents, sessions, jobs } = setting.own_models;
  const apart = [
    ...(sessions ? [plural(sessions, "conversation")] : []),
    ...(jobs ? [plural(jobs, "automation")] : []),
  ];
  return (
    <div className="space-y-1">
      <p>
        {setting.offline ? (
          "No model is chosen, so a small built-in program answers. It is not an AI; it understands a few phrases about time."
        ) : (
          <>
            Answers come from <strong className="[overflow-wrap:anywhere]">{setting.model}</strong>
            {setting.chosen?.base_url && setting.source === "chosen" && (
              <span className="text-mute [overflow-wrap:anywhere]"> at {setting.chosen.base_url}</span>
            )}
            .
          </>
        )}{" "}
        {!(setting.offline && setting.source === "found") && <span className="text-mute">{setting.why}</span>}
      </p>
      {setting.problem && (
        <p role="alert" className="text-bad">
          {setting.problem}
        </p>
      )}
      {(agents.length > 0 || apart.length > 0) && (
        <p className="text-small text-mute">
          With a model of their own:{" "}
          {agents.map((agent, n) => (
            <span key={agent.id}>
              {n > 0 && ", "}
              <Link to={pathTo.agent(agent.id)} className="link">
                {agent.name}
              </Link>{" "}
              ({agent.model})
            </span>
          ))}
          {agents.length > 0 && apart.length > 0 && ", "}
          {apart.join(", ")}. An automation’s model counts first, then the conversation’s, then the agent’s.
        </p>
      )}
    </div>
  );
}

function Choose({ setting }: { setting: Setting }) {
  const [open, setOpen] = useState(setting.offline);
  const list = useQuery({ queryKey: ["models"], queryFn: () => listModels(), enabled: open });
  if (!open)
    return (
      <button type="button" className="button" onClick={() => setOpen(true)}>
        Choose another model
      </button>
    );
  if (list.isError) return <LoadError error={list.error} again={() => void list.refetch()} />;
  if (!list.data) return <Loading rows={2} />;
  return <Form setting={setting} known={list.data} />;
}

function Form({ setting, known }: { setting: Setting; known: ModelList }) {
  const client = useQueryClient();
  const providers = known.providers.filter((one) => one.installed);
  const found = known.items;
  const [from, setFrom] = useState(found.length > 0 ? LOCAL : (providers[0]?.provider ?? OTHER));
  const provider = providers.find((one) => one.provider === from);
  const [model, setModelName] = useState("");
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState("");
  const [named, setNamed] = useState<ModelList | null>(null);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refusal | null>(null);
  const chosenFound = found.find((one) => one.model === model) ?? found[0];

  function draft(): ModelDraft {
    if (from === LOCAL) return { model: chosenFound?.model ?? "", base_url: chosenFound?.base_url ?? null };
    const given = secret ? { key: secret } : {};
    if (from === OTHER) {
      const name = model.trim();
      return { model: name.includes(":") ? name : `openai-chat:${name}`, base_url: url.trim(), ...given };
    }
    return { model: model.trim() || (provider?.model ?? ""), ...given };
  }

  async function save(body: ModelDraft) {
    setBusy(true);
    setRefused(null);
    try {
      const kept = await setModel(body);
      client.setQueryData(keys.model, kept);
      await Promise.all([keys.status, keys.agents].map((queryKey) => client.invalidateQueries({ queryKey })));
      setSecret("");
      toast({ text: kept.offline ? "No model is used now" : `${kept.model} answers from the next message on` });
      for (const text of kept.warnings ?? []) toast({ text });
    } catch (error) {
      if (error instanceof Refusal && error.fields.length > 0) setRefused(error);
      else toastError(error);
    } finally {
      setBusy(false);
    }
  }

  async function look() {
    setRefused(null);
    try {
      const listed = await listModels(url.trim());
      setNamed(listed);
      const first = listed.items.find((one) => one.base_url === url.trim().replace(/\/+$/, ""));
      if (first && !model) setModelName(first.model);
    } catch (error) {
      if (error instanceof Refusal && error.fields.length > 0) setRefused(error);
      else toastError(error);
    }
  }

  function choose(next: string) {
    setFrom(next);
    setModelName("");
    setRefused(null);
    setNamed(null);
  }

  const about = (field: string) => {
    const fault = refused?.fields.find((one) => one.field === field);
    return fault ? fault.detail : null;
  };
  const keyed = from === OTHER || (provider !== undefined && !(provider.has_key && secret === ""));
  return (
    <form
      className="flex max-w-[30rem] flex-col gap-4"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void save(draft());
      }}
    >
      <Labelled label="From">
        {(wired) => (
          <select {...wired} className="field" value={from} onChange={(event) => choose(event.target.value)}>
            {found.length > 0 && <option value={LOCAL}>{found[0]?.server}</option>}
            {providers.map((one) => (
              <option key={one.provider} value={one.provider}>
                {one.name}
              </option>
            ))}
            <option value={OTHER}>Another server (OpenAI-compatible)</option>
          </select>
        )}
      </Labelled>
      {from === OTHER && (
        <div>
          <Labelled
            label="Address"
            hint="Such as http://127.0.0.1:11434/v1 for Ollama, or your company’s gateway."
            error={about("base_url")}
          >
            {(wired) => (
              <input
                {...wired}
                type="url"
                required
                className="field"
                value={url}
                placeholder="http://127.0.0.1:11434/v1"
                onChange={(event) => setUrl(event.target.value)}
              />
            )}
          </Labelled>
          <button type="button" className="link mt-1 text-small" disabled={!url.trim()} onClick={() => void look()}>
            Look for its models
          </button>
          <Looked named={named} use={setUrl} />
        </div>
      )}
      {from === LOCAL ? (
        <Labelled label="Model" error={about("model")}>
          {(wired) => (
            <select
              {...wired}
              className="field"
              value={chosenFound?.model}
              onChange={(event) => setModelName(event.target.value)}
            >
              {found.map((one) => (
                <option key={one.model} value={one.model}>
                  {one.model}
                </option>
              ))}
            </select>
          )}
        </Labelled>
      ) : (
        <Labelled label="Model" error={about("model")}>
          {(wired) => (
            <>
              <input
                {...wired}
                className="field"
                required={from === OTHER}
                value={model}
                list={`${wired.id}-known`}
                placeholder={provider?.model ?? "openai-chat:…"}
                autoComplete="off"
                onChange={(event) => setModelName(event.target.value)}
              />
              <datalist id={`${wired.id}-known`}>
                {(named?.items ?? []).map((one) => (
                  <option key={one.model} value={one.model} />
                ))}
              </datalist>
            </>
          )}
        </Labelled>
      )}
      {from !== LOCAL && (
        <Labelled
          label={keyed && from !== OTHER ? "Key" : "Key (optional)"}
          hint={
            provider?.has_key
              ? "There is one already. Leave this empty to use it."
              : "Kept in Homing’s home, where only its owner can read it. Never shown again."
          }
          error={about("key")}
        >
          {(wired) => (
            <input
              {...wired}
              type="password"
              className="field"
              value={secret}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setSecret(event.target.value)}
            />
          )}
        </Labelled>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <button type="submit" className="button" data-look="main" disabled={busy}>
          {busy ? "Asking it…" : "Test and use"}
        </button>
        {setting.chosen && (
          <button
            type="button"
            className="button"
            data-look="plain"
            disabled={busy}
            onClick={() => void save({ model: null })}
          >
            Forget this choice
          </button>
        )}
      </div>
    </form>
  );
}

/** What a look at a server gave. */
function Looked({ named, use }: { named: ModelList | null; use: (url: string) => void }) {
  if (!named) return null;
  const { suggested_url: meant, note, items } = named;
  return (
    <p role="status" className="mt-1 text-small text-mute">
      {meant ? (
        <>
          Nothing there lists models, but {meant} does.{" "}
          <button type="button" className="link" onClick={() => use(meant)}>
            Use {meant}
          </button>
        </>
      ) : (
        (note ?? `${plural(items.length, "model")} found: choose one below.`)
      )}
    </p>
  );
}
