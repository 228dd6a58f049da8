// The states, each with a colour and a shape of its own: the same in strip, list, calendar and command line.
//   ok ●   error ✕   waiting ○   running ◐   skipped –   cancelled ⊘   disabled ‖   coming ○ (ink)   done ✓
import type { DeliveryState, Job, JobStatus, RunState, Turn } from "../api/types";

export type Shape = "ok" | "error" | "waiting" | "running" | "skipped" | "cancelled" | "disabled" | "coming" | "done";

/** One movement of the pen on a 12-unit square: where it begins, how it goes on, and how thick; without a width it fills. */
export type Pen = { x: number; y: number; d: string; width?: number };

const ring = (r: number): Pick<Pen, "x" | "y" | "d"> => ({
  x: 6 - r,
  y: 6,
  d: `a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
});

export const drawings: Record<Shape, Pen[]> = {
  ok: [ring(4.3)],
  error: [{ x: 2.3, y: 2.3, d: "l7.4 7.4m0-7.4l-7.4 7.4", width: 2.3 }],
  waiting: [{ ...ring(3.7), width: 1.8 }],
  running: [
    { ...ring(4.2), width: 1.4 },
    { x: 6, y: 1.8, d: "a4.2 4.2 0 0 1 0 8.4z" },
  ],
  skipped: [{ x: 2, y: 6, d: "h8", width: 2 }],
  cancelled: [
    { ...ring(4), width: 1.5 },
    { x: 3.2, y: 8.8, d: "l5.6-5.6", width: 1.5 },
  ],
  disabled: [{ x: 4, y: 2.5, d: "v7m4-7v7", width: 2 }],
  coming: [{ ...ring(3.7), width: 1.3 }],
  done: [{ x: 2, y: 6.5, d: "l2.7 2.7l5.3-6", width: 1.8 }],
};

/** The same movement at several places, as one element: a strip of thirty states costs as many elements as it has kinds. */
export function Stroke({ pen, places }: { pen: Pen; places: number[] }) {
  const d = places.map((left) => `M${left + pen.x} ${pen.y}${pen.d}`).join("");
  if (pen.width === undefined) return <path d={d} fill="currentColor" />;
  return (
    <path
      d={d}
      fill="none"
      stroke="currentColor"
      strokeWidth={pen.width}
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  );
}

export const shapeColor: Record<Shape, string> = {
  ok: "text-ok",
  error: "text-bad",
  waiting: "text-wait",
  running: "text-accent",
  skipped: "text-mute",
  cancelled: "text-mute",
  disabled: "text-mute",
  coming: "text-ink",
  done: "text-mute",
};

type GlyphProps = { shape: Shape; size?: number; label?: string; className?: string };

/** A state's sign. With a label it speaks for itself; without one the words stand beside it. */
export function Glyph({ shape, size = 12, label, className }: GlyphProps) {
  const voice = label ? { role: "img", "aria-label": label } : { "aria-hidden": true };
  return (
    <svg
      viewBox="0 0 12 12"
      width={size}
      height={size}
      className={`flex-none ${shapeColor[shape]} ${className ?? ""}`}
      {...voice}
    >
      <g className={shape === "running" ? "turning" : undefined}>
        {drawings[shape].map((pen) => (
          <Stroke key={pen.d} pen={pen} places={HERE} />
        ))}
      </g>
    </svg>
  );
}

const HERE = [0];

export const shapeOfRun = (state: RunState): Shape => (state === "queued" ? "waiting" : state);

const turnShapes: Record<NonNullable<Turn["outcome"]>, Shape> = {
  answered: "ok",
  empty: "ok",
  failed: "error",
  cancelled: "cancelled",
};
export const shapeOfTurn = (turn: Turn): Shape => (turn.outcome ? turnShapes[turn.outcome] : "running");

const jobShapes: Record<JobStatus, Shape> = { active: "ok", paused: "disabled", attention: "error", done: "done" };
export const shapeOfStatus = (status: JobStatus): Shape => jobShapes[status];

/** A job that is at work shows that; else how it stands. */
export function shapeOfJob(job: Job): Shape {
  if (job.state.active_run_id) return job.state.running_at ? "running" : "waiting";
  return jobShapes[job.status];
}

const deliveryShapes: Record<DeliveryState, Shape> = { pending: "waiting", sent: "ok", dead: "error" };
export const shapeOfDelivery = (state: DeliveryState): Shape => deliveryShapes[state];
