// For admins: everyone who may sign in, and their tokens.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { sentenceOf } from "../api/client";
import { createToken, listTokens, listUsers, revokeToken } from "../api/operations";
import { useMe, useMyZone } from "../api/queries";
import type { NewToken, Token, User } from "../api/types";
import { Loading } from "../parts/EmptyState";
import { OneTimeSecret } from "../parts/OneTimeSecret";
import { toast, toastError } from "../parts/toasts";
import { plural } from "../parts/words";
import { Stamp } from "../time/Time";
import { nameOf, TokenRow } from "./Tokens";

const USERS = ["users"];
const tokensOf = (user: string) => ["tokens", user];

export function People() {
  const client = useQueryClient();
  const zone = useMyZone();
  const me = useMe().data?.user_id;
  const list = useQuery({ queryKey: USERS, queryFn: listUsers });
  const again = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: USERS }),
      client.invalidateQueries({ queryKey: ["tokens"] }),
    ]).then(() => undefined);
  return (
    <>
      <p className="mb-2 text-mute">
        Each person has conversations, automations and memories of their own. Someone joins with a token that you make
        for them; its role says whether they may manage this server.
      </p>
      {list.isPending && <Loading rows={1} />}
      {list.isError && <p className="text-bad">{sentenceOf(list.error)}</p>}
      <ul className="border-t empty:hidden" aria-label="People">
        {list.data?.items.map((user) => (
          <Person key={user.user_id} user={user} zone={zone} self={user.user_id === me} again={again} />
        ))}
      </ul>
      <AddPerson made={again} />
    </>
  );
}

type PersonProps = { user: User; zone: string; self: boolean; again: () => Promise<void> };

function Person({ user, zone, self, again }: PersonProps) {
  const [open, setOpen] = useState(false);
  return (
    <li className="border-b py-1.5">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <span className="font-semibold [overflow-wrap:anywhere]">{user.name}</span>
        {user.name !== user.user_id && <code className="font-mono text-[0.9em] text-mute">{user.user_id}</code>}
        <span className="text-mute">{user.role}</span>
        {self && <span className="text-mute">you</span>}
        <button
          type="button"
          className="link ml-auto text-small"
          aria-expanded={open}
          aria-label={`${plural(user.tokens, "token")} of ${user.name}`}
          onClick={() => setOpen(!open)}
        >
          {plural(user.tokens, "token")}
        </button>
      </div>
      <p className="text-small text-mute">
        {user.last_used_at ? (
          <>
            last active <Stamp at={user.last_used_at} zone={zone} />
          </>
        ) : (
          "not active yet"
        )}
      </p>
      {open && <TokensOf user={user} zone={zone} again={again} />}
    </li>
  );
}

function TokensOf({ user, zone, again }: { user: User; zone: string; again: () => Promise<void> }) {
  const list = useQuery({ queryKey: tokensOf(user.user_id), queryFn: () => listTokens(user.user_id) });

  async function revoke(token: Token) {
    try {
      await revokeToken(token.id);
      toast({ text: `Revoked: ${nameOf(token)}, and everything made with it` });
      await again();
    } catch (error) {
      toastError(error);
    }
  }

  if (list.isPending) return <Loading rows={1} />;
  if (list.isError) return <p className="text-bad">{sentenceOf(list.error)}</p>;
  return (
    <ul className="mt-1 ml-4 border-t empty:hidden" aria-label={`Tokens of ${user.name}`}>
      {list.data.items.map((token) => (
        <TokenRow key={token.id} token={token} zone={zone} revoke={() => void revoke(token)} />
      ))}
    </ul>
  );
}

function AddPerson({ made }: { made: () => Promise<void> }) {
  const [user, setUser] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<"user" | "admin">("user");
  const [fresh, setFresh] = useState<NewToken | null>(null);
  const [refused, setRefused] = useState<string | null>(null);

  async function make(event: FormEvent) {
    event.preventDefault();
    setRefused(null);
    try {
      setFresh(await createToken({ user: user.trim(), role, name: name.trim() || undefined }));
      setUser("");
      setName("");
      setRole("user");
      await made();
    } catch (error) {
      setRefused(sentenceOf(error));
    }
  }

  return (
    <>
      {fresh && <OneTimeSecret label={`The token for ${fresh.user_id}`} value={fresh.token} />}
      <form className="mt-3 flex flex-wrap items-end gap-2" onSubmit={(event) => void make(event)}>
        <label className="flex min-w-[8rem] flex-1 flex-col gap-1">
          <span className="text-small font-semibold">Person</span>
          <input
            className="field"
            value={user}
            required
            autoComplete="off"
            placeholder="anna"
            onChange={(event) => setUser(event.target.value)}
          />
        </label>
        <label className="flex min-w-[8rem] flex-1 flex-col gap-1">
          <span className="text-small font-semibold">
            Token name <span className="font-normal text-mute">(optional)</span>
          </span>
          <input
            className="field"
            value={name}
            autoComplete="off"
            placeholder="her laptop"
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <label className="flex flex-col gap-1">
          <span className="text-small font-semibold">Role</span>
          <select
            className="field !w-auto"
            value={role}
            onChange={(event) => setRole(event.target.value === "admin" ? "admin" : "user")}
          >
            <option value="user">user</option>
            <option value="admin">admin</option>
          </select>
        </label>
        <button type="submit" className="button" disabled={!user.trim()}>
          Make a token for them
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
