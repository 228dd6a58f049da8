// Who may talk to one's agents through a channel: link a chat with a code that is shown once, say what a group may do, remove.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { sentenceOf } from "../api/client";
import {
  linkChannel,
  listChannels,
  listContacts,
  removeContact,
  updateContact,
  verifyAddress,
} from "../api/operations";
import { useMyZone } from "../api/queries";
import type { Contact, ContactPatch, LinkCode } from "../api/types";
import { ConfirmButton } from "../parts/ConfirmButton";
import { Loading } from "../parts/EmptyState";
import { OneTimeSecret } from "../parts/OneTimeSecret";
import { toast, toastError } from "../parts/toasts";
import { Link, pathTo } from "../router";
import { Relative } from "../time/Time";

export function Contacts() {
  const list = useQuery({ queryKey: ["contacts"], queryFn: listContacts });
  const contacts = list.data?.items ?? [];
  return (
    <>
      {list.isPending && <Loading rows={1} />}
      {list.isError && <p className="text-bad">{sentenceOf(list.error)}</p>}
      {list.isSuccess && contacts.length === 0 && (
        <p className="text-mute">Nobody can talk to your agents through a channel until you link a chat.</p>
      )}
      <ul className="border-t empty:hidden">
        {contacts.map((contact) => (
          <Row key={contact.id} contact={contact} />
        ))}
      </ul>
      <LinkForm />
      <MailForm />
    </>
  );
}

function Row({ contact }: { contact: Contact }) {
  const client = useQueryClient();
  const zone = useMyZone();
  const again = () => client.invalidateQueries({ queryKey: ["contacts"] });

  async function change(patch: ContactPatch) {
    try {
      await updateContact(contact.id, patch);
      await again();
    } catch (error) {
      toastError(error);
    }
  }

  async function remove() {
    try {
      await removeContact(contact.id);
      toast({ text: `Removed ${contact.name}` });
      await again();
    } catch (error) {
      toastError(error);
    }
  }

  return (
    <li className="border-b py-1.5">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <span className="font-semibold [overflow-wrap:anywhere]">{contact.name}</span>
        <span className="text-mute [overflow-wrap:anywhere]">
          {contact.kind} · {contact.address}
        </span>
        {contact.session_key && (
          <Link to={pathTo.chat(contact.session_key)} className="link text-small">
            Conversation
          </Link>
        )}
        {contact.last_at && (
          <span className="text-small text-mute">
            last <Relative at={contact.last_at} zone={zone} />
          </span>
        )}
        <span className="ml-auto">
          <ConfirmButton
            label={`Remove ${contact.name}`}
            text="Remove"
            question="Remove?"
            onConfirm={() => void remove()}
          />
        </span>
      </div>
      {contact.blocked && <p className="text-small text-bad">{contact.name} has blocked this account.</p>}
      {contact.kind === "group" && (
        <p className="flex flex-wrap gap-x-4 text-small">
          <label>
            <input
              type="checkbox"
              checked={contact.who === "everyone"}
              onChange={(event) => void change({ who: event.target.checked ? "everyone" : "linked" })}
            />{" "}
            Everyone there may talk, as guests
          </label>
          <label>
            <input
              type="checkbox"
              checked={contact.wakes === "all"}
              onChange={(event) => void change({ wakes: event.target.checked ? "all" : "addressed" })}
            />{" "}
            Answer every message, even if the bot isn't mentioned
          </label>
        </p>
      )}
    </li>
  );
}

function LinkForm() {
  const channels = useQuery({ queryKey: ["channels"], queryFn: listChannels });
  const listening = (channels.data?.items ?? []).filter((channel) => channel.linking === "code");
  const [chosen, setChosen] = useState<string | null>(null);
  const [group, setGroup] = useState(false);
  const [link, setLink] = useState<LinkCode | null>(null);
  const name = chosen ?? listening[0]?.name;
  if (!name) return null;

  async function make(event: FormEvent) {
    event.preventDefault();
    try {
      setLink(await linkChannel(name as string, group));
    } catch (error) {
      toastError(error);
    }
  }

  return (
    <>
      <form className="mt-3 flex flex-wrap items-center gap-3" onSubmit={(event) => void make(event)}>
        <select
          className="field !w-auto"
          aria-label="Channel"
          value={name}
          onChange={(event) => setChosen(event.target.value)}
        >
          {listening.map((channel) => (
            <option key={channel.name}>{channel.name}</option>
          ))}
        </select>
        <label className="text-small">
          <input type="checkbox" checked={group} onChange={(event) => setGroup(event.target.checked)} /> A group that I
          am in
        </label>
        <button type="submit" className="button">
          Link a chat
        </button>
      </form>
      {link && (
        <>
          <OneTimeSecret
            label={`Send this ${group ? "in the group" : `to ${link.account ?? name}`} within ten minutes`}
            value={link.say}
          />
          {link.url && (
            <a className="link text-small" href={link.url} target="_blank" rel="noreferrer">
              Or open the chat with the code
            </a>
          )}
          {link.qr && <QrCode svg={link.qr} />}
        </>
      )}
    </>
  );
}

// As a picture: nothing in an SVG runs there, and the page's policy allows pictures from memory.
function QrCode({ svg }: { svg: string }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [svg]);
  return (
    <figure className="mt-2 w-40">
      {url && <img src={url} alt="QR code of this link" className="h-40 w-40" />}
      <figcaption className="text-small text-mute">Or scan it with your phone</figcaption>
    </figure>
  );
}

// A mail address is one's own after a code that was sent there was entered here.
function MailForm() {
  const client = useQueryClient();
  const channels = useQuery({ queryKey: ["channels"], queryFn: listChannels });
  const accounts = (channels.data?.items ?? []).filter((channel) => channel.linking === "mail");
  const [chosen, setChosen] = useState<string | null>(null);
  const [address, setAddress] = useState("");
  const [code, setCode] = useState("");
  const [sent, setSent] = useState<string | null>(null);
  const name = chosen ?? accounts[0]?.name;
  if (!name) return null;

  async function submit(event: FormEvent) {
    event.preventDefault();
    try {
      const told = await verifyAddress(name as string, sent ?? address, sent ? code : undefined);
      if (!sent) {
        setSent(told.address);
        return;
      }
      toast({ text: `${sent} is linked to you` });
      setSent(null);
      setAddress("");
      setCode("");
      await client.invalidateQueries({ queryKey: ["contacts"] });
    } catch (error) {
      toastError(error);
    }
  }

  return (
    <form className="mt-3 flex flex-wrap items-center gap-3" onSubmit={(event) => void submit(event)}>
      {accounts.length > 1 && !sent && (
        <select
          className="field !w-auto"
          aria-label="Mail account"
          value={name}
          onChange={(event) => setChosen(event.target.value)}
        >
          {accounts.map((channel) => (
            <option key={channel.name}>{channel.name}</option>
          ))}
        </select>
      )}
      {sent ? (
        <>
          <label className="text-small" htmlFor="mail-code">
            Enter the code that was sent to {sent}. It works once, for ten minutes.
          </label>
          <input
            id="mail-code"
            className="field !w-auto"
            autoComplete="one-time-code"
            value={code}
            required
            onChange={(event) => setCode(event.target.value)}
          />
          <button type="submit" className="button">
            Link this address
          </button>
          <button type="button" className="link" onClick={() => setSent(null)}>
            Another address
          </button>
        </>
      ) : (
        <>
          <input
            type="email"
            className="field !w-auto"
            aria-label="Your mail address"
            placeholder="anna@example.org"
            autoComplete="email"
            value={address}
            required
            onChange={(event) => setAddress(event.target.value)}
          />
          <button type="submit" className="button">
            Send me a code
          </button>
        </>
      )}
    </form>
  );
}
