// The last thirty runs: how each ended, how long it took and what it cost. Every bar is a link with the same in words.
import type { Run } from "../api/types";
import { Glyph, shapeOfRun } from "../parts/Glyph";
import { Tooltip } from "../parts/Tooltip";
import { outcomeOf, plural } from "../parts/words";
import { Link, pathTo } from "../router";
import { nowMs } from "../time/clock";
import { durationOf, stampOf } from "../time/format";
import { dollars } from "../turns/Spent";

const SHOWN = 30;
const HEIGHT = 40;

export function RunBars({ runs, zone }: { runs: Run[]; zone: string }) {
  const shown = runs.slice(0, SHOWN).reverse();
  const longest = Math.max(1, ...shown.map((run) => run.duration_ms ?? 0));
  const failed = shown.filter((run) => run.state === "error").length;
  const took = shown.flatMap((run) => (run.duration_ms === null ? [] : [run.duration_ms]));
  const spent = shown.reduce((sum, run) => sum + (run.usage.cost_usd ?? 0), 0);
  const words = [
    `Last ${plural(shown.length, "run")}`,
    failed ? `${failed} failed` : "none failed",
    took.length > 0 ? `${durationOf(Math.round(took.reduce((sum, ms) => sum + ms, 0) / took.length))} on average` : "",
    spent > 0 ? dollars(spent) : "",
  ];
  return (
    <figure className="mb-3">
      <figcaption className="mb-1.5 text-small text-mute">{words.filter(Boolean).join(", ")}</figcaption>
      <ol aria-label="At a glance, oldest first" className="flex flex-wrap items-end gap-y-2">
        {shown.map((run) => (
          <li key={run.id}>
            <Tooltip text={inWords(run, zone)}>
              <Link
                to={pathTo.run(run.id)}
                aria-label={inWords(run, zone)}
                className="flex w-6 flex-col items-center justify-end gap-1 rounded py-0.5 hover:bg-hover"
              >
                <span
                  aria-hidden="true"
                  className={`w-2.5 rounded-t-sm ${run.state === "error" ? "bg-bad" : run.state === "ok" ? "bg-ok" : "bg-edge"}`}
                  style={{ height: heightOf(run, longest) }}
                />
                <Glyph shape={shapeOfRun(run.state)} size={11} />
              </Link>
            </Tooltip>
          </li>
        ))}
      </ol>
    </figure>
  );
}

/** The longest fills the height; what took no time is still a line. */
function heightOf(run: Run, longest: number): number {
  return run.duration_ms === null ? 2 : Math.max(2, Math.round((run.duration_ms / longest) * HEIGHT));
}

function inWords(run: Run, zone: string): string {
  const parts = [
    outcomeOf(run),
    run.duration_ms === null ? "" : `took ${durationOf(run.duration_ms)}`,
    run.usage.cost_usd ? dollars(run.usage.cost_usd) : "",
  ];
  return `${stampOf(Date.parse(run.scheduled_for), zone, nowMs())} ${zone}: ${parts.filter(Boolean).join(", ")}`;
}
