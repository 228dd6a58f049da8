// Where messages go: each conversation's own addresses, webhooks one can add to them, and a test for every one.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { placeDelivery, placeSession } from "../api/cache";
import { sentenceOf } from "../api/client";
import { addWebhook, listWebhooks, removeWebhook, testAddress, updateSession } from "../api/operations";
import { flat, useSessions } from "../api/queries";
import type { NewWebhook, Session, Webhook } from "../api/types";
import { Loading } from "../parts/Blank";
import { More } from "../parts/More";
import { Once } from "../parts/Once";
import { complain, toast } from "../parts/toasts";
import { Twice } from "../parts/Twice";
import { titleOf } from "../parts/words";
import { Link, pathTo } from "../router";

export function Addresses() {
  const sessions = useSessions("");
  const webhooks = useQuery({ queryKey: ["webhooks"], queryFn: listWebhooks });
  const hooks = webhooks.data?.items ?? [];
  return (
    <>
      <p className="mb-2 text-mute">An answer goes to the addresses of its conversation.</p>
      {sessions.isPending && <Loading rows={2} />}
      {sessions.isError && <p className="text-bad">{sentenceOf(sessions.error)}</p>}
      <ul className="max-h-96 overflow-y-auto border-y">
        {flat(sessions.data).map((session) => (
          <SessionAddresses key={session.key} session={session} hooks={hooks} />
        ))}
        <li>
          <More has={sessions.hasNextPage} busy={sessions.isFetchingNextPage} load={() => void sessions.fetchNextPage()} />
        </li>
      </ul>
      <Webhooks hooks={hooks} />
    </>
  );
}

function SessionAddresses({ session, hooks }: { session: Session; hooks: Webhook[] }) {
  const client = useQueryClient();
  const free = hooks.filter((hook) => !session.addresses.includes(hook.address));

  async function test(address: string) {
    try {
      placeDelivery(client, await testAddress(session.key, address));
      toast({ text: `Test sent to ${address}`, link: { to: "/deliveries", text: "Show" } });
    } catch (error) {
      complain(error);
    }
  }

  async function change(addresses: string[]) {
    try {
      placeSession(client, await updateSession(session.key, { addresses, revision: session.revision }));
    } catch (error) {
      complain(error);
    }
  }

  return (
    <li className="border-b py-2 last:border-b-0">
      <Link to={pathTo.chat(session.key)} className="font-semibold hover:underline">
        {titleOf(session)}
      </Link>
      {session.addresses.map((address) => (
        <p key={address} className="flex flex-wrap items-baseline gap-x-3">
          <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{address}</span>
          {address.startsWith("webhook:") && (
            <button type="button" className="link text-[0.9rem]" aria-label={`Take ${address} from ${titleOf(session)}`} onClick={() => void change(session.addresses.filter((other) => other !== address))}>
              Remove
            </button>
          )}
          <button type="button" className="link text-[0.9rem]" aria-label={`Send a test to ${address}`} onClick={() => void test(address)}>
            Send test
          </button>
        </p>
      ))}
      {free.length > 0 && (
        <select
          aria-label={`Add a webhook to ${titleOf(session)}`}
          className="mt-1 bg-transparent text-[0.9rem] text-mute"
          value=""
          onChange={(event) => event.target.value && void change([...session.addresses, event.target.value])}
        >
          <option value="">Add a webhook</option>
          {free.map((hook) => (
            <option key={hook.id} value={hook.address} className="bg-paper">
              {hook.url}
            </option>
          ))}
        </select>
      )}
    </li>
  );
}

function Webhooks({ hooks }: { hooks: Webhook[] }) {
  const client = useQueryClient();
  const [url, setUrl] = useState("");
  const [made, setMade] = useState<NewWebhook | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const again = () => client.invalidateQueries({ queryKey: ["webhooks"] });

  async function add(event: FormEvent) {
    event.preventDefault();
    setRefused(null);
    try {
      setMade(await addWebhook(url.trim()));
      setUrl("");
      await again();
    } catch (error) {
      setRefused(sentenceOf(error));
    }
  }

  async function remove({ id, url: gone }: Webhook) {
    try {
      await removeWebhook(id);
      toast({ text: `Removed: ${gone}` });
      await again();
    } catch (error) {
      complain(error);
    }
  }

  return (
    <div className="mt-5">
      <p className="mb-1 font-semibold">Webhooks</p>
      <ul>
        {hooks.map((hook) => (
          <li key={hook.id} className="flex flex-wrap items-baseline gap-x-3 border-b py-1.5">
            <span className="min-w-[14rem] flex-1 [overflow-wrap:anywhere]">{hook.url}</span>
            <code className="font-mono text-[0.85em] text-mute">{hook.address}</code>
            <Twice label={`Remove webhook ${hook.url}`} does="Remove" sure="Remove for good?" onDo={() => void remove(hook)} />
          </li>
        ))}
      </ul>
      {made && <Once label="The webhook's signing secret" value={made.secret} />}
      <form className="mt-3 flex flex-wrap gap-2" onSubmit={(event) => void add(event)}>
        <input type="url" required aria-label="Webhook address" placeholder="https://…" className="field !w-auto min-w-0 flex-1" value={url} aria-invalid={refused !== null} onChange={(event) => setUrl(event.target.value)} />
        <button type="submit" className="button">
          Add webhook
        </button>
      </form>
      {refused && (
        <p role="alert" className="mt-1 text-[0.9rem] text-bad">
          {refused}
        </p>
      )}
    </div>
  );
}
