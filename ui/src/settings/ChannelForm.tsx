// Add a channel, or change its fields such as its token. The server signs in to it before it keeps anything.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Refusal } from "../api/client";
import { addChannel, listChannelKinds, updateChannel } from "../api/operations";
import type { Channel, ChannelKind } from "../api/types";
import { LoadError, Loading } from "../parts/EmptyState";
import { Labelled } from "../parts/Labelled";
import { toast, toastError } from "../parts/toasts";
import { capital } from "../parts/words";

const HINTS: Record<string, string> = {
  imap_url: "imaps://user:password@host, for incoming mail",
  smtp_url: "smtps://user:password@host, for outgoing mail",
  authserv_id: "How your mail server names itself in the header Authentication-Results",
  from: "The sender’s address, such as homing@example.org",
};

type ChannelFormProps = { channel?: Channel; done: () => void };

export function ChannelForm({ channel, done }: ChannelFormProps) {
  const kinds = useQuery({ queryKey: ["channel-kinds"], queryFn: listChannelKinds });
  if (kinds.isError) return <LoadError error={kinds.error} again={() => void kinds.refetch()} />;
  if (!kinds.data) return <Loading rows={2} />;
  return <Form kinds={kinds.data.items} channel={channel} done={done} />;
}

function Form({ kinds, channel, done }: ChannelFormProps & { kinds: ChannelKind[] }) {
  const client = useQueryClient();
  const [kind, setKind] = useState(channel?.kind ?? kinds[0]?.kind ?? "");
  const [name, setName] = useState<string | null>(null);
  const [values, setValues] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refusal | null>(null);
  const fields = kinds.find((one) => one.kind === kind)?.fields ?? [];
  const about = (field: string) => refused?.fields.find((one) => one.field === field)?.detail ?? null;
  const named = new Set(["name", ...fields.map((field) => `fields.${field.name}`)]);
  const elsewhere = refused && !refused.fields.some((one) => named.has(one.field)) ? refused.message : null;

  async function save(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setRefused(null);
    try {
      const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ""));
      const kept = channel
        ? await updateChannel(channel.name, given)
        : await addChannel({ name: name?.trim() || kind, kind, fields: given });
      toast({ text: `${kept.name} works${kept.account ? ` as ${kept.account}` : ""}` });
      await client.invalidateQueries({ queryKey: ["channels"] });
      done();
    } catch (error) {
      if (error instanceof Refusal) setRefused(error);
      else toastError(error);
      setBusy(false);
    }
  }

  return (
    <form className="mt-3 flex max-w-[30rem] flex-col gap-4" onSubmit={(event) => void save(event)}>
      {!channel && (
        <>
          <Labelled label="Kind">
            {(wired) => (
              <select
                {...wired}
                className="field"
                value={kind}
                onChange={(event) => {
                  setKind(event.target.value);
                  setValues({});
                  setRefused(null);
                }}
              >
                {kinds.map((one) => (
                  <option key={one.kind} value={one.kind}>
                    {capital(one.kind)}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
          <Labelled label="Name" hint="Addresses in this channel begin with it." error={about("name")}>
            {(wired) => (
              <input
                {...wired}
                className="field"
                value={name ?? kind}
                required
                autoComplete="off"
                spellCheck={false}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Labelled>
        </>
      )}
      {fields.map((field) => (
        <Labelled
          key={field.name}
          label={labelOf(field.name) + (field.required || channel ? "" : " (optional)")}
          hint={channel ? "Leave empty to keep the current value." : HINTS[field.name]}
          error={about(`fields.${field.name}`)}
        >
          {(wired) => (
            <input
              {...wired}
              type={field.secret ? "password" : "text"}
              className="field"
              required={field.required && !channel}
              value={values[field.name] ?? ""}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setValues({ ...values, [field.name]: event.target.value })}
            />
          )}
        </Labelled>
      ))}
      {elsewhere && (
        <p role="alert" className="text-small text-bad [overflow-wrap:anywhere]">
          {elsewhere}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <button type="submit" className="button" data-look="main" disabled={busy}>
          {busy ? "Signing in…" : channel ? "Test and save" : "Test and add"}
        </button>
        <button type="button" className="button" data-look="plain" onClick={done}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function labelOf(field: string) {
  return capital(field.replaceAll("_", " ").replace(/\b(url|imap|smtp|id)\b/g, (word) => word.toUpperCase()));
}
