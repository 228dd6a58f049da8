// The last runs of a job, oldest at the left, each with its state's shape. Lists have thousands of these, so they are lean.
import { type MouseEvent, memo, useState } from "react";
import { createPortal } from "react-dom";
import type { RecentRun } from "../api/types";
import { navigate, pathTo } from "../router";
import { nowMs } from "../time/clock";
import { stampOf } from "../time/format";
import { drawings, type Shape, Stroke, shapeColor, shapeOfRun } from "./Glyph";
import { outcomeOf, plural } from "./words";

const PITCH = 9;
// Odd as the pitch: both middles lie on a pixel's, and a cross is as wide as it is high.
const HEIGHT = 21;
const SCALE = 2 / 3;

type RunStripProps = { runs: RecentRun[]; zone: string; room?: number };

export const RunStrip = memo(function RunStrip({ runs, zone, room = 30 }: RunStripProps) {
  const [over, setOver] = useState<{ index: number; x: number; y: number } | null>(null);
  const shown = runs.slice(0, room).reverse();
  const failed = shown.filter((run) => run.state === "error").length;
  const run = over ? shown[over.index] : undefined;
  if (shown.length === 0) return <span className="text-small text-mute">No runs yet</span>;

  function hover(event: MouseEvent) {
    const box = event.currentTarget.getBoundingClientRect();
    const index = Math.floor((event.clientX - box.left) / PITCH);
    setOver({ index, x: box.left + (index + 0.5) * PITCH, y: box.top });
  }

  return (
    <div
      className="relative cursor-pointer"
      style={{ width: shown.length * PITCH }}
      onMouseMove={hover}
      onMouseLeave={() => setOver(null)}
      onClick={() => run && navigate(pathTo.run(run.id))}
    >
      <svg
        width={shown.length * PITCH}
        height={HEIGHT}
        role="img"
        aria-label={`Last ${plural(shown.length, "run")}${failed ? `, ${failed} failed` : ", none failed"}`}
        className="block"
      >
        {over && <rect x={over.index * PITCH - 0.5} width={PITCH} height={HEIGHT} rx="2" fill="var(--color-hover)" />}
        <g transform={`translate(0.5 ${HEIGHT / 2 - 6 * SCALE}) scale(${SCALE})`}>
          {[...placesOf(shown)].map(([shape, places]) => (
            <g key={shape} className={shapeColor[shape]}>
              {drawings[shape].map((pen) => (
                <Stroke key={pen.d} pen={pen} places={places} />
              ))}
            </g>
          ))}
        </g>
      </svg>
      {over &&
        run &&
        createPortal(
          <span
            className="tip pointer-events-none fixed w-max -translate-x-1/2 -translate-y-full"
            style={{ left: over.x, top: over.y }}
          >
            {stampOf(Date.parse(run.scheduled_for), zone, nowMs())} {zone}
            {"\n"}
            {outcomeOf(run)}
          </span>,
          document.body, // A row out of sight is not painted beyond its box, and neither would this be.
        )}
    </div>
  );
});

function placesOf(runs: RecentRun[]): Map<Shape, number[]> {
  const places = new Map<Shape, number[]>();
  for (const [index, run] of runs.entries()) {
    const shape = shapeOfRun(run.state);
    places.set(shape, [...(places.get(shape) ?? []), (index * PITCH) / SCALE]);
  }
  return places;
}
