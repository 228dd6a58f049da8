// An agent's packages. A change is looked up at once, and installed afterwards beside what the agent has.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { placeAgent } from "../api/cache";
import { sentenceOf } from "../api/client";
import { updateAgent } from "../api/operations";
import type { Agent } from "../api/types";
import { ServerText } from "../parts/ServerText";
import { toast } from "../parts/toasts";
import { Link, pathTo } from "../router";
import { EntryList } from "./EntryList";

type Names = { pip: string[]; npm: string[] };

const differ = (one: Names, other: Names) => JSON.stringify(one) !== JSON.stringify(other);

export function Packages({ agent }: { agent: Agent }) {
  const client = useQueryClient();
  const has: Names = { pip: agent.packages?.pip ?? [], npm: agent.packages?.npm ?? [] };
  // Null: nothing was changed here, so what is shown follows what the agent has.
  const [draft, setDraft] = useState<Names | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const shown = draft ?? has;
  const changed = draft !== null && differ(draft, has);
  const building = agent.environment?.state === "building";

  function set(names: Partial<Names>) {
    setDraft({ ...shown, ...names });
    setError(null);
  }

  async function install() {
    setBusy(true);
    try {
      placeAgent(client, await updateAgent(agent.id, { packages: shown }));
      setDraft(null);
      toast({ text: `Being installed: packages of ${agent.name}` });
    } catch (refusal) {
      setError(sentenceOf(refusal));
    }
    setBusy(false);
  }

  return (
    <section aria-labelledby="packages" className="mt-7">
      <h2 id="packages" className="!text-small !text-ink">
        Packages
      </h2>
      <p className="text-small text-mute">
        What its programs find beside those of the machine. Nothing of a package runs outside the sandbox.
      </p>
      <Standing agent={agent} />
      <div className="mt-2 flex flex-col gap-4">
        <EntryList
          label="From pip"
          one="Python package"
          hint="Such as requests or pandas>=2."
          entries={shown.pip}
          error={null}
          onChange={(pip) => set({ pip })}
        />
        <EntryList
          label="From npm"
          one="npm package"
          hint="Such as left-pad or @types/node@^22."
          entries={shown.npm}
          error={null}
          onChange={(npm) => set({ npm })}
        />
      </div>
      <div aria-live="assertive">
        {error && (
          <p className="mt-2 text-small text-bad [overflow-wrap:anywhere]">
            <ServerText text={error} />
          </p>
        )}
      </div>
      {changed && (
        <div className="mt-2 flex gap-2">
          <button type="button" className="button" disabled={busy || building} onClick={() => void install()}>
            {busy ? "Looking them up" : "Install these packages"}
          </button>
          <button type="button" className="button" data-look="plain" disabled={busy} onClick={() => setDraft(null)}>
            Keep what it has
          </button>
        </div>
      )}
    </section>
  );
}

function Standing({ agent }: { agent: Agent }) {
  const { state, error, approval_id: approvalId } = agent.environment ?? {};
  if (state !== "building" && state !== "failed") return null;
  return (
    <p
      role="status"
      className={`mt-1 text-small ${state === "failed" ? "text-bad" : "text-mute"} [overflow-wrap:anywhere]`}
    >
      {state === "building" ? "Packages are being installed." : `The last installation failed: ${error}`}{" "}
      {approvalId && (
        <Link to={pathTo.approval(approvalId)} className="link">
          Show everything that was asked for
        </Link>
      )}
    </p>
  );
}
