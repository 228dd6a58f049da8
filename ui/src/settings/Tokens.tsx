// Keys for programs. A token's text is shown once, when it is made; afterwards its name, its use and its end.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { sentenceOf } from "../api/client";
import { createToken, listTokens, revokeToken } from "../api/operations";
import { useMyZone } from "../api/queries";
import type { NewToken, Token } from "../api/types";
import { ConfirmButton } from "../parts/ConfirmButton";
import { Loading } from "../parts/EmptyState";
import { OneTimeSecret } from "../parts/OneTimeSecret";
import { toast, toastError } from "../parts/toasts";
import { nowMs } from "../time/clock";
import { dateKey } from "../time/format";
import { Stamp } from "../time/Time";

export const nameOf = ({ name, id }: Token) => name ?? id;

export function Tokens() {
  const client = useQueryClient();
  const zone = useMyZone();
  const list = useQuery({ queryKey: ["tokens"], queryFn: () => listTokens() });
  const again = () => client.invalidateQueries({ queryKey: ["tokens"] });

  async function revoke(token: Token) {
    try {
      await revokeToken(token.id);
      toast({ text: `Revoked: ${nameOf(token)}, and everything made with it` });
      await again();
    } catch (error) {
      toastError(error);
    }
  }

  return (
    <>
      <p className="mb-2 text-mute">
        A program signs in with a token. Revoking one also ends what was made with it: other tokens, and browsers that
        signed in by it.
      </p>
      {list.isPending && <Loading rows={1} />}
      {list.isError && <p className="text-bad">{sentenceOf(list.error)}</p>}
      <ul className="border-t empty:hidden">
        {list.data?.items.map((token) => (
          <TokenRow key={token.id} token={token} zone={zone} revoke={() => void revoke(token)} />
        ))}
      </ul>
      <MakeToken zone={zone} made={again} />
    </>
  );
}

export function TokenRow({ token, zone, revoke }: { token: Token; zone: string; revoke: () => void }) {
  return (
    <li className="border-b py-1.5">
      <div className="flex flex-wrap items-baseline gap-x-3">
        {token.name && <span className="font-semibold [overflow-wrap:anywhere]">{token.name}</span>}
        <code className={`font-mono text-[0.9em] ${token.name ? "text-mute" : ""}`}>{token.id}</code>
        <span className="text-mute">{token.role}</span>
        {token.owner && <span className="rounded bg-accent-tint px-1.5 text-fine text-accent">owner</span>}
        <span className="ml-auto">
          <ConfirmButton
            label={`Revoke ${nameOf(token)}`}
            text="Revoke"
            question="Revoke it and all made with it?"
            onConfirm={revoke}
          />
        </span>
      </div>
      <p className="flex flex-wrap gap-x-3 text-small text-mute">
        <span>
          {token.last_used_at ? (
            <>
              last used <Stamp at={token.last_used_at} zone={zone} />
            </>
          ) : (
            "not used yet"
          )}
        </span>
        <span>
          {token.expires_at ? (
            <>
              ends <Stamp at={token.expires_at} zone={zone} />
            </>
          ) : (
            "does not expire"
          )}
        </span>
      </p>
    </li>
  );
}

function MakeToken({ zone, made }: { zone: string; made: () => Promise<void> }) {
  const [name, setName] = useState("");
  const [ends, setEnds] = useState("");
  const [fresh, setFresh] = useState<NewToken | null>(null);
  const [refused, setRefused] = useState<string | null>(null);

  async function make(event: FormEvent) {
    event.preventDefault();
    setRefused(null);
    try {
      setFresh(await createToken({ name: name.trim() || undefined, expires: ends || undefined }));
      setName("");
      setEnds("");
      await made();
    } catch (error) {
      setRefused(sentenceOf(error));
    }
  }

  return (
    <>
      {fresh && (
        <OneTimeSecret label={fresh.name ? `The new token “${fresh.name}”` : "The new token"} value={fresh.token} />
      )}
      <form className="mt-3 flex flex-wrap items-end gap-2" onSubmit={(event) => void make(event)}>
        <label className="flex min-w-[10rem] flex-1 flex-col gap-1">
          <span className="text-small font-semibold">Name</span>
          <input
            className="field"
            value={name}
            autoComplete="off"
            placeholder="backup script"
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <label className="flex flex-col gap-1">
          <span className="text-small font-semibold">
            Last day <span className="font-normal text-mute">(optional)</span>
          </span>
          <input
            type="date"
            className="field !w-auto"
            min={dateKey(nowMs(), zone)}
            value={ends}
            onChange={(event) => setEnds(event.target.value)}
          />
        </label>
        <button type="submit" className="button">
          Make a token
        </button>
      </form>
      {refused && (
        <p role="alert" className="mt-1 text-small text-bad">
          {refused}
        </p>
      )}
    </>
  );
}
