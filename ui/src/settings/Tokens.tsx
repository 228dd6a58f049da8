// Keys for programs. A token is shown once, when it is made; afterwards only that it exists.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createToken, listTokens, revokeToken } from "../api/operations";
import { sentenceOf } from "../api/client";
import { useMyZone } from "../api/queries";
import type { NewToken } from "../api/types";
import { Loading } from "../parts/Blank";
import { Once } from "../parts/Once";
import { complain, toast } from "../parts/toasts";
import { Twice } from "../parts/Twice";
import { Stamp } from "../time/Time";

export function Tokens() {
  const client = useQueryClient();
  const zone = useMyZone();
  const list = useQuery({ queryKey: ["tokens"], queryFn: listTokens });
  const [made, setMade] = useState<NewToken | null>(null);
  const again = () => client.invalidateQueries({ queryKey: ["tokens"] });

  async function make() {
    try {
      setMade(await createToken());
      await again();
    } catch (error) {
      complain(error);
    }
  }

  async function revoke(id: string) {
    try {
      await revokeToken(id);
      toast({ text: `Revoked: ${id}` });
      await again();
    } catch (error) {
      complain(error);
    }
  }

  return (
    <>
      {list.isPending && <Loading rows={1} />}
      {list.isError && <p className="text-bad">{sentenceOf(list.error)}</p>}
      <ul className="border-t empty:hidden">
        {list.data?.items.map((token) => (
          <li key={token.id} className="flex flex-wrap items-baseline gap-x-3 border-b py-1.5">
            <code className="font-mono text-[0.9em]">{token.id}</code>
            <span className="text-mute">{token.role}</span>
            <span className="text-[0.9rem] text-mute">{token.expires_at ? <>until <Stamp at={token.expires_at} zone={zone} /></> : "does not expire"}</span>
            <span className="ml-auto">
              <Twice label={`Revoke ${token.id}`} does="Revoke" sure="Revoke for good?" onDo={() => void revoke(token.id)} />
            </span>
          </li>
        ))}
      </ul>
      {made && <Once label="The new token" value={made.token} />}
      <button type="button" className="button mt-3" onClick={() => void make()}>
        Make a token
      </button>
    </>
  );
}
