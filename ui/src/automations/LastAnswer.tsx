// An automation's last answer, and how it differs from the one before.
import { useQuery } from "@tanstack/react-query";
import { listMessages } from "../api/operations";
import type { Run } from "../api/types";
import { Loading } from "../parts/EmptyState";
import { Markdown } from "../parts/Markdown";
import { Link, pathTo } from "../router";
import { Stamp } from "../time/Time";
import { changesOf, type Piece } from "./diff";

/** Runs that left an answer, of those that are loaded. */
export const answered = (runs: Run[]) => runs.filter((run) => run.state === "ok" && run.summary);

export function LastAnswer({ runs, zone }: { runs: Run[]; zone: string }) {
  const [last, before] = answered(runs);
  const now = useAnswer(last);
  const then = useAnswer(before);
  if (!last) return null;
  return (
    <section aria-labelledby="last-answer" className="mt-7">
      <div className="mb-2 flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 id="last-answer">Last answer</h2>
        <span className="text-small text-mute">
          <Link to={pathTo.run(last.id)} className="link">
            <Stamp at={last.scheduled_for} zone={zone} />
          </Link>
        </span>
      </div>
      {now.isPending ? (
        <Loading rows={2} />
      ) : (
        <div className="border-y py-3">
          <Markdown text={now.data || last.summary || ""} />
        </div>
      )}
      {before && now.data && then.data && <Changes before={then.data} now={now.data} at={before} zone={zone} />}
    </section>
  );
}

function Changes({ before, now, at, zone }: { before: string; now: string; at: Run; zone: string }) {
  if (before === now) return <p className="mt-2 text-small text-mute">No change since the previous answer.</p>;
  const pieces = changesOf(before, now);
  return (
    <details className="mt-2 text-small" open>
      <summary className="text-mute hover:text-ink">
        Changes since <Stamp at={at.scheduled_for} zone={zone} />
      </summary>
      {pieces ? (
        <p className="mt-2 whitespace-pre-wrap rounded-md bg-tint px-3 py-2 [overflow-wrap:anywhere]">
          {pieces.map((piece, index) => (
            <Change key={index} piece={piece} />
          ))}
        </p>
      ) : (
        <p className="mt-2 text-mute">The two answers are too long to compare.</p>
      )}
    </details>
  );
}

/** Marked by more than colour, and named for screen readers. */
function Change({ piece: { kind, text } }: { piece: Piece }) {
  if (kind === "same") return text;
  if (kind === "added")
    return (
      <ins className="rounded-sm bg-accent-tint font-semibold text-ink underline decoration-accent">
        <span className="sr-only"> added: </span>
        {text}
      </ins>
    );
  return (
    <del className="text-mute line-through">
      <span className="sr-only"> removed: </span>
      {text}
    </del>
  );
}

const useAnswer = (run: Run | undefined) =>
  useQuery({
    queryKey: ["answer", run?.id, run?.closing_seq],
    queryFn: () => readAnswer(run as Run),
    enabled: run !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The text of a run's closing message. An isolated run has its own session, named after it. */
async function readAnswer(run: Run): Promise<string> {
  const seq = run.closing_seq;
  if (seq === null) return run.summary ?? "";
  const read = async (key: string) =>
    (await listMessages(key, { after: seq - 1, limit: 1 })).items.find((message) =>
      run.turn_id ? message.turn_id === run.turn_id : message.seq === seq,
    );
  const found = (await read(run.session_key)) ?? (run.turn_id ? await read(`cron:${run.id}`) : undefined);
  return found?.text ?? run.summary ?? "";
}
