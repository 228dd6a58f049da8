// Runs of one automation, newest first: when due, how it went and why, how late, how long.
import { flat, useRuns } from "../api/queries";
import type { Run } from "../api/types";
import { Failed, Loading } from "../parts/Blank";
import { Glyph, shapeOfRun } from "../parts/Glyph";
import { More } from "../parts/More";
import { outcomeOf, plural, triggerWord } from "../parts/words";
import { Link, pathTo } from "../router";
import { durationOf, latenessOf } from "../time/format";
import { Wall, Zone } from "../time/Time";

export function RunTable({ jobId, zone }: { jobId: string; zone: string }) {
  const list = useRuns({ job_id: jobId }, 20);
  const runs = flat(list.data);
  if (list.isPending) return <Loading rows={4} />;
  if (list.isError && runs.length === 0) return <Failed error={list.error} again={() => void list.refetch()} />;
  if (runs.length === 0) return <p className="border-t py-4 text-mute">It has not run yet.</p>;
  return (
    <>
      <ul aria-label="Runs" className="border-t">
        {runs.map((run) => (
          <RunRow key={run.id} run={run} zone={zone} />
        ))}
      </ul>
      <More has={list.hasNextPage} busy={list.isFetchingNextPage} load={() => void list.fetchNextPage()} label="Show earlier runs" />
    </>
  );
}

function RunRow({ run, zone }: { run: Run; zone: string }) {
  return (
    <li className="border-b">
      <Link to={pathTo.run(run.id)} className="-mx-2 grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-3 rounded px-2 py-2 hover:bg-tint sm:grid-cols-[auto_minmax(13rem,1fr)_minmax(0,1.3fr)_6rem_5.5rem]">
        <Glyph shape={shapeOfRun(run.state)} className="translate-y-px" />
        <span>
          <Wall at={run.scheduled_for} zone={zone} seconds="if any" /> <Zone name={zone} short />
        </span>
        <span className={`col-start-2 sm:col-start-auto ${run.state === "error" ? "text-bad" : ""}`}>
          {outcomeOf(run)}
          {run.missed_count !== null && run.missed_count > 1 && `, ${plural(run.missed_count, "time")}`}
          {run.trigger !== "timer" && <span className="text-mute"> ({triggerWord[run.trigger].toLowerCase()})</span>}
        </span>
        <span className="hidden text-right text-mute sm:block">{run.started_at && run.lateness_ms !== null ? latenessOf(run.lateness_ms) : ""}</span>
        <span className="hidden text-right text-mute sm:block">{run.duration_ms !== null ? durationOf(run.duration_ms) : ""}</span>
      </Link>
    </li>
  );
}
