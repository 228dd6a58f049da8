// The last runs of a job, oldest at the left, each with its state's shape. Plain titles: a list has thousands of these.
import { type MouseEvent, memo } from "react";
import type { RecentRun } from "../api/types";
import { navigate, pathTo } from "../router";
import { nowMs } from "../time/clock";
import { stampOf } from "../time/format";
import { GlyphAt, shapeOfRun } from "./Glyph";
import { outcomeOf, plural } from "./words";

const PITCH = 9;
const HEIGHT = 20;
const SCALE = 0.68;

type StripProps = { runs: RecentRun[]; zone: string; room?: number };

export const Strip = memo(function Strip({ runs, zone, room = 30 }: StripProps) {
  const shown = runs.slice(0, room).reverse();
  const failed = shown.filter((run) => run.state === "error").length;
  if (shown.length === 0) return <span className="text-[0.87rem] text-mute">No runs yet</span>;

  function open(event: MouseEvent) {
    const run = (event.target as Element).closest<SVGGElement>("[data-run]")?.dataset.run;
    if (run) navigate(pathTo.run(run));
  }

  return (
    <svg
      width={shown.length * PITCH}
      height={HEIGHT}
      viewBox={`0 0 ${shown.length * PITCH} ${HEIGHT}`}
      role="img"
      aria-label={`Last ${plural(shown.length, "run")}${failed ? `, ${failed} failed` : ", none failed"}`}
      className="block max-w-full"
      onClick={open}
    >
      {shown.map((run, index) => (
        <g key={run.id} data-run={run.id} className="cursor-pointer">
          <title>{`${stampOf(Date.parse(run.scheduled_for), zone, nowMs())} ${zone}\n${outcomeOf(run)}`}</title>
          <rect x={index * PITCH} y={0} width={PITCH} height={HEIGHT} fill="transparent" />
          <g transform={`translate(${index * PITCH + 0.4} ${HEIGHT / 2 - 6 * SCALE}) scale(${SCALE})`}>
            <GlyphAt shape={shapeOfRun(run.state)} x={0} y={0} />
          </g>
        </g>
      ))}
    </svg>
  );
});
