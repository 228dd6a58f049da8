// The states, each with a colour and a shape of its own: the same in strip, list, calendar and command line.
//   ok ●   error ✕   waiting ○   running ◐   skipped –   cancelled ⊘   disabled ‖   coming ○ (ink)   done ✓
import type { ReactNode } from "react";
import type { DeliveryState, JobStatus, RunState } from "../api/types";

export type Shape = "ok" | "error" | "waiting" | "running" | "skipped" | "cancelled" | "disabled" | "coming" | "done";

const drawings: Record<Shape, ReactNode> = {
  ok: <circle cx="6" cy="6" r="4.3" fill="currentColor" />,
  error: <path d="M2.3 2.3l7.4 7.4M9.7 2.3 2.3 9.7" stroke="currentColor" strokeWidth="2.3" strokeLinecap="round" />,
  waiting: <circle cx="6" cy="6" r="3.7" fill="none" stroke="currentColor" strokeWidth="1.8" />,
  running: (
    <>
      <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" strokeWidth="1.4" />
      <path d="M6 1.8a4.2 4.2 0 0 1 0 8.4z" fill="currentColor" />
    </>
  ),
  skipped: <path d="M2 6h8" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />,
  cancelled: (
    <>
      <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="1.5" />
      <path d="M3.2 8.8l5.6-5.6" stroke="currentColor" strokeWidth="1.5" />
    </>
  ),
  disabled: <path d="M4 2.5v7M8 2.5v7" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />,
  coming: <circle cx="6" cy="6" r="3.7" fill="none" stroke="currentColor" strokeWidth="1.3" />,
  done: <path d="M2 6.5l2.7 2.7L10 3.2" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" />,
};

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
    <svg viewBox="0 0 12 12" width={size} height={size} className={`flex-none ${shapeColor[shape]} ${className ?? ""}`} {...voice}>
      <g className={shape === "running" ? "turning" : undefined}>{drawings[shape]}</g>
    </svg>
  );
}

/** The bare drawing at a place in a larger picture (strips). */
export function GlyphAt({ shape, x, y }: { shape: Shape; x: number; y: number }) {
  return (
    <g transform={`translate(${x} ${y})`} className={shapeColor[shape]}>
      {drawings[shape]}
    </g>
  );
}

export const shapeOfRun = (state: RunState): Shape => (state === "queued" ? "waiting" : state);

const jobShapes: Record<JobStatus, Shape> = { active: "ok", paused: "disabled", attention: "error", done: "done" };
export const shapeOfJob = (status: JobStatus): Shape => jobShapes[status];

const deliveryShapes: Record<DeliveryState, Shape> = { pending: "waiting", sent: "ok", dead: "error" };
export const shapeOfDelivery = (state: DeliveryState): Shape => deliveryShapes[state];
