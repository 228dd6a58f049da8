// Where messages go: each conversation's own addresses, webhooks and granted addresses one can add to them, and a test for every one.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { keys, placeDelivery, placeSession } from "../api/cache";
import { sentenceOf } from "../api/client";
import {
  addGrant,
  addWebhook,
  listGrants,
  listWebhooks,
  removeGrant,
  removeWebhook,
  testAddress,
  updateSession,
} from "../api/operations";
import { flat, useSessions } from "../api/queries";
import type { Grant, NewWebhook, Session, Webhook } from "../api/types";
import { ConfirmButton } from "../parts/ConfirmButton";
import { Loading } from "../parts/EmptyState";
import { LoadMore } from "../parts/LoadMore";
import { OneTimeSecret } from "../parts/OneTimeSecret";
import { toast, toastError } from "../parts/toasts";
import { titleOf } from "../parts/words";
import { Link, pathTo } from "../router";

export function Addresses() {
  const sessions = useSessions();
  const webhooks = useQuery({ queryKey: ["webhooks"], queryFn: listWebhooks });
  const granted = useQuery({ queryKey: ["grants"], queryFn: listGrants });
  const hooks = webhooks.data?.items ?? [];
  const grants = (granted.data?.items ?? []).filter(isAddress);
  return (
    <>
      <p className="mb-2 text-mute">An answer goes to the addresses of its conversation.</p>
      {sessions.isPending && <Loading rows={2} />}
      {sessions.isError && <p className="text-bad">{sentenceOf(sessions.error)}</p>}
      <ul className="max-h-96 overflow-y-auto border-y">
        {flat(sessions.data).map((session) => (
          <SessionAddresses key={session.key} session={session} hooks={hooks} grants={grants} />
        ))}
        <li>
          <LoadMore
            has={sessions.hasNextPage}
            busy={sessions.isFetchingNextPage}
            load={() => void sessions.fetchNextPage()}
          />
        </li>
      </ul>
      <Mail grants={grants} />
      <Webhooks hooks={hooks} />
    </>
  );
}

type AddressGrant = Grant & { address: string };

// Hosts are granted to agents, and are not a place for messages.
function isAddress(grant: Grant): grant is AddressGrant {
  return grant.address !== null;
}

/** What a conversation may also answer to, by what people know it as. */
function offersFor(session: Session, hooks: Webhook[], grants: AddressGrant[]): Map<string, string> {
  const offers = new Map([[session.key, `this conversation (${session.key})`]]);
  for (const hook of hooks) offers.set(hook.address, hook.url);
  for (const { agent_id, address } of grants)
    if (agent_id === session.agent_id && !offers.has(address)) offers.set(address, address);
  for (const address of session.addresses) offers.delete(address);
  return offers;
}

function SessionAddresses({ session, hooks, grants }: { session: Session; hooks: Webhook[]; grants: AddressGrant[] }) {
  const client = useQueryClient();
  const offers = [...offersFor(session, hooks, grants)];

  async function test(address: string) {
    try {
      placeDelivery(client, await testAddress(session.key, address));
      toast({ text: `Test sent to ${address}`, link: { to: "/deliveries", text: "Show" } });
    } catch (error) {
      toastError(error);
    }
  }

  async function change(addresses: string[]) {
    try {
      placeSession(client, await updateSession(session.key, { addresses, revision: session.revision }));
    } catch (error) {
      toastError(error);
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
          {address !== session.key && (
            <button
              type="button"
              className="link text-small"
              aria-label={`Remove ${address} from ${titleOf(session)}`}
              onClick={() => void change(session.addresses.filter((other) => other !== address))}
            >
              Remove
            </button>
          )}
          <button
            type="button"
            className="link text-small"
            aria-label={`Send test to ${address}`}
            onClick={() => void test(address)}
          >
            Send test
          </button>
        </p>
      ))}
      {offers.length > 0 && (
        <select
          aria-label={`Add an address to ${titleOf(session)}`}
          className="mt-1 w-40 bg-transparent text-small text-mute"
          value=""
          onChange={(event) => event.target.value && void change([...session.addresses, event.target.value])}
        >
          <option value="">Add an address</option>
          {offers.map(([address, name]) => (
            <option key={address} value={address} className="bg-paper">
              {name}
            </option>
          ))}
        </select>
      )}
    </li>
  );
}

const MAIL = "email:";

/** Mail addresses that may be written to. Only an admin adds one, since nothing here proves whose it is. */
function Mail({ grants }: { grants: AddressGrant[] }) {
  const client = useQueryClient();
  const [mailbox, setMailbox] = useState("");
  const [missing, setMissing] = useState<string[]>([]);
  const [refused, setRefused] = useState<string | null>(null);
  const again = () => client.invalidateQueries({ queryKey: ["grants"] });

  async function add(event: FormEvent) {
    event.preventDefault();
    setRefused(null);
    setMissing([]);
    const typed = mailbox.trim();
    try {
      const { address, warnings } = await addGrant(typed.startsWith(MAIL) ? typed : MAIL + typed);
      setMailbox("");
      setMissing(warnings);
      toast({ text: `Added: ${address}` });
      await again();
    } catch (error) {
      setRefused(sentenceOf(error));
    }
  }

  async function remove({ id, address }: AddressGrant) {
    try {
      await removeGrant(id);
      toast({ text: `Removed: ${address}` });
      await Promise.all([again(), client.invalidateQueries({ queryKey: keys.sessions })]);
    } catch (error) {
      toastError(error);
    }
  }

  return (
    <section aria-label="E-mail addresses" className="mt-5">
      <p className="mb-1 font-semibold">E-mail</p>
      <p className="text-small text-mute">
        An address that is added here can be chosen for a conversation above. Only an admin can add one.
      </p>
      <ul>
        {grants.map((grant) => (
          <li key={grant.id} className="flex flex-wrap items-baseline gap-x-3 border-b py-1.5">
            <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{grant.address}</span>
            <ConfirmButton
              label={`Remove ${grant.address}`}
              text="Remove"
              question="Remove from all conversations?"
              onConfirm={() => void remove(grant)}
            />
          </li>
        ))}
      </ul>
      {missing.map((warning) => (
        <p key={warning} role="status" className="mt-2 text-small text-wait">
          {warning}
        </p>
      ))}
      <form className="mt-3 flex flex-wrap gap-2" noValidate onSubmit={(event) => void add(event)}>
        <input
          type="email"
          aria-label="E-mail address"
          placeholder="you@example.org"
          autoComplete="email"
          className="field !w-auto min-w-0 flex-1"
          value={mailbox}
          aria-invalid={refused !== null}
          onChange={(event) => setMailbox(event.target.value)}
        />
        <button type="submit" className="button" disabled={mailbox.trim() === ""}>
          Add e-mail
        </button>
      </form>
      {refused && (
        <p role="alert" className="mt-1 text-small text-bad">
          {refused}
        </p>
      )}
    </section>
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
      toastError(error);
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
            <ConfirmButton
              label={`Remove webhook ${hook.url}`}
              text="Remove"
              question="Remove for good?"
              onConfirm={() => void remove(hook)}
            />
          </li>
        ))}
      </ul>
      {made && <OneTimeSecret label="The webhook's signing secret" value={made.secret} />}
      <form className="mt-3 flex flex-wrap gap-2" onSubmit={(event) => void add(event)}>
        <input
          type="url"
          required
          aria-label="Webhook address"
          placeholder="https://…"
          className="field !w-auto min-w-0 flex-1"
          value={url}
          aria-invalid={refused !== null}
          onChange={(event) => setUrl(event.target.value)}
        />
        <button type="submit" className="button">
          Add webhook
        </button>
      </form>
      {refused && (
        <p role="alert" className="mt-1 text-small text-bad">
          {refused}
        </p>
      )}
    </div>
  );
}
