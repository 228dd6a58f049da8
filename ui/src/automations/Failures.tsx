// Failures grouped by cause: twelve automations that fail for one reason are one thing to fix.
import { useState } from "react";
import { flat, useJobs } from "../api/queries";
import { Glyph } from "../parts/Glyph";
import { ServerText } from "../parts/ServerText";
import { plural } from "../parts/words";
import { Link } from "../router";
import { useBulk } from "./bulk";
import { type Cause, causesOf } from "./causes";

const SHOWN = 3;

export function Failures({ sessionKey }: { sessionKey: string }) {
  const list = useJobs({ status: "attention", ...(sessionKey && { session_key: sessionKey }) });
  const jobs = flat(list.data).filter((job) => job.status === "attention" && job.kind !== "system");
  const causes = causesOf(jobs).filter((cause) => cause.jobs.length > 1);
  if (causes.length === 0) return null;
  return (
    <section aria-label="Failures by cause" className="mt-2">
      <ul className="flex flex-col gap-1.5">
        {causes.slice(0, SHOWN).map((cause) => (
          <OneCause key={cause.text} cause={cause} more={list.hasNextPage} />
        ))}
      </ul>
    </section>
  );
}

function OneCause({ cause: { text, jobs, key }, more }: { cause: Cause; more: boolean }) {
  const { retry } = useBulk();
  const [busy, setBusy] = useState(false);
  const count = `${jobs.length}${more ? " or more" : ""}`;

  async function again() {
    setBusy(true);
    await retry(jobs);
    setBusy(false);
  }

  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md bg-bad-tint px-3 py-1">
      <Glyph shape="error" className="flex-none" />
      <p className="min-w-0 flex-1 basis-60 [overflow-wrap:anywhere]">
        <strong className="font-semibold">
          {count} {plural(jobs.length, "automation").replace(/^\S+ /, "")}:
        </strong>{" "}
        <ServerText text={text} />
      </p>
      <span className="flex flex-none gap-2">
        {key && (
          <Link to="/settings" className="button">
            Fix key
          </Link>
        )}
        <button type="button" className="button" disabled={busy} onClick={() => void again()}>
          {busy ? "Starting…" : "Retry all"}
        </button>
      </span>
    </li>
  );
}
