// Runs of one automation, newest first: when due, how it went and why, what it said, how late, how long.
import { flat, useRuns } from "../api/queries";
import type { Run } from "../api/types";
import { LoadError, Loading } from "../parts/EmptyState";
import { Glyph, shapeOfRun } from "../parts/Glyph";
import { LoadMore } from "../parts/LoadMore";
import { PagedList } from "../parts/PagedList";
import { outcomeOf, plainOf, plural } from "../parts/words";
import { Link, pathTo } from "../router";
import { durationOf, latenessOf } from "../time/format";
import { Wall, Zone } from "../time/Time";

export const RUNS_SHOWN = 30;

export function RunTable({ jobId, zone }: { jobId: string; zone: string }) {
  const list = useRuns({ job_id: jobId }, RUNS_SHOWN);
  const runs = flat(list.data);
  if (list.isPending) return <Loading rows={4} />;
  if (list.isError && runs.length === 0) return <LoadError error={list.error} again={() => void list.refetch()} />;
  if (runs.length === 0) return <p className="border-t py-4 text-mute">It has not run yet.</p>;
  return (
    <>
      <p aria-hidden="true" className={`hidden border-b pb-1 text-fine text-mute sm:grid ${COLUMNS}`}>
        <span className="w-3" />
        <span>Due</span>
        <span>Outcome</span>
        <span className="text-right">Late</span>
        <span className="text-right">Took</span>
      </p>
      <div className="border-t sm:border-t-0">
        <PagedList
          label="Runs"
          busy={false}
          pages={(list.data?.pages ?? []).map((page) => page.items)}
          row={(run) => <RunRow key={run.id} run={run} zone={zone} />}
        />
      </div>
      <LoadMore
        has={list.hasNextPage}
        busy={list.isFetchingNextPage}
        load={() => void list.fetchNextPage()}
        label="Show earlier runs"
      />
    </>
  );
}

const COLUMNS = "gap-x-3 sm:grid-cols-[auto_minmax(13rem,1fr)_minmax(0,1.3fr)_6rem_5.5rem]";

function RunRow({ run, zone }: { run: Run; zone: string }) {
  const late = run.started_at && run.lateness_ms !== null ? latenessOf(run.lateness_ms) : "";
  const said = run.state === "error" ? run.error_summary : run.summary && plainOf(run.summary);
  const took = run.duration_ms !== null ? durationOf(run.duration_ms) : "";
  return (
    <li className="border-b">
      <Link
        to={pathTo.run(run.id)}
        className={`-mx-2 grid grid-cols-[auto_minmax(0,1fr)] items-baseline rounded px-2 py-2 hover:bg-tint ${COLUMNS}`}
      >
        <Glyph shape={shapeOfRun(run.state)} className="translate-y-px" />
        <span>
          <Wall at={run.scheduled_for} zone={zone} seconds="if any" /> <Zone name={zone} short />
        </span>
        <span className={`col-start-2 sm:col-start-auto ${run.state === "error" ? "text-bad" : ""}`}>
          {outcomeOf(run)}
          {run.missed_count !== null && run.missed_count > 1 && `, ${plural(run.missed_count, "time")}`}
          {run.trigger !== "timer" && <span className="text-mute"> ({run.trigger_words})</span>}
          {said && <span className="line-clamp-2 text-small text-mute [overflow-wrap:anywhere]">{said}</span>}
        </span>
        <span className="hidden text-right text-mute sm:block">{late}</span>
        <span className="hidden text-right text-mute sm:block">{took}</span>
        {(late || took) && (
          <span className="col-start-2 text-small text-mute sm:hidden">
            {[late, took && `took ${took}`].filter(Boolean).join(", ")}
          </span>
        )}
      </Link>
    </li>
  );
}
