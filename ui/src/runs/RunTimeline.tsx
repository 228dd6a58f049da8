// A run's steps, drawn like a line on a railway map: due, waiting, running, delivering, done.
import type { ReactNode } from "react";
import { isOver } from "../api/queries";
import type { Run } from "../api/types";
import { Glyph, type Shape, shapeOfRun } from "../parts/Glyph";
import { capital, outcomeOf, plural } from "../parts/words";
import { useNow } from "../time/clock";
import { clockWithSeconds, durationOf, latenessOf, spanOf } from "../time/format";
import { Zone } from "../time/Time";

type Stop = { name: string; shape: Shape | null; detail: ReactNode };

export function RunTimeline({ run, zone }: { run: Run; zone: string }) {
  const stops = stopsOf(run, zone);
  return (
    <ol aria-label="How this run went" className="flex flex-col sm:flex-row">
      {stops.map(({ name, shape, detail }, index) => {
        const reached = shape !== null;
        const last = index === stops.length - 1;
        return (
          <li
            key={name}
            className={`relative flex min-w-0 gap-3 pb-4 sm:block sm:flex-1 sm:pb-0 ${reached ? "" : "text-mute"}`}
            aria-current={reached && stops[index + 1]?.shape === null ? "step" : undefined}
          >
            {!last && (
              <span
                aria-hidden="true"
                className={`absolute top-3 bottom-[-0.4rem] left-[0.47rem] w-0.5 sm:top-[0.44rem] sm:right-1 sm:bottom-auto sm:left-6 sm:h-0.5 sm:w-auto ${stops[index + 1]?.shape ? "bg-ink" : "bg-line"}`}
              />
            )}
            <span className="relative z-10 mt-1 block h-4 w-4 flex-none bg-paper sm:mt-0">
              {shape ? (
                <Glyph shape={shape} size={15} />
              ) : (
                <span className="absolute top-[3px] left-[3px] size-[9px] rounded-full border-2" />
              )}
            </span>
            <div className="min-w-0 sm:mt-2 sm:pr-3">
              <p className="font-semibold">{name}</p>
              <p className="text-small text-mute">{detail}</p>
            </div>
          </li>
        );
      })}
    </ol>
  );
}

function stopsOf(run: Run, zone: string): Stop[] {
  const clock = (at: string | null) =>
    at && (
      <>
        {clockWithSeconds(Date.parse(at), zone)} <Zone name={zone} short />
      </>
    );
  const due: Stop = {
    name: run.trigger === "manual" ? "Asked for" : "Due",
    shape: "done",
    detail: clock(run.scheduled_for),
  };
  if (run.state === "skipped")
    return [due, { name: capital(run.state_words), shape: "skipped", detail: outcomeOf(run) }];

  const waited = run.queued_at && run.started_at ? Date.parse(run.started_at) - Date.parse(run.queued_at) : null;
  const waiting: Stop = {
    name: "Waiting",
    shape: run.state === "queued" ? "waiting" : run.queued_at ? "done" : null,
    detail: run.state === "queued" ? waitingFor(run) : waited !== null ? `${durationOf(Math.max(0, waited))}` : "",
  };
  const running: Stop = {
    name: "Running",
    shape: run.state === "running" ? "running" : run.started_at ? "done" : null,
    detail: run.started_at && (
      <>
        {clock(run.started_at)}, {run.lateness_ms !== null && latenessOf(run.lateness_ms)}
        {run.state === "running" ? <Elapsed since={run.started_at} /> : null}
      </>
    ),
  };
  const done: Stop = {
    name: isOver(run) ? capital(run.state_words) : "Done",
    shape: isOver(run) ? shapeOfRun(run.state) : null,
    detail: isOver(run) ? doneDetail(run, clock(run.finished_at)) : "",
  };
  return [due, waiting, running, delivering(run), done];
}

function delivering(run: Run): Stop {
  const all = run.deliveries ?? [];
  const sent = all.filter((one) => one.state === "sent").length;
  const dead = all.filter((one) => one.state === "dead").length;
  if (!isOver(run)) return { name: "Delivering", shape: null, detail: "" };
  if (all.length === 0) return { name: "Delivering", shape: "done", detail: "nothing to carry" };
  const shape = dead > 0 ? "error" : sent < all.length ? "waiting" : "done";
  return {
    name: "Delivering",
    shape,
    detail: dead > 0 ? `${plural(dead, "address", "addresses")} not reached` : `${sent} of ${all.length} delivered`,
  };
}

const waitingWords = {
  session: "until the conversation is free",
  slot: "for a free slot",
  gate: "for its script, which looks first",
  worker: "for a machine that can do it",
};
const waitingFor = (run: Run) => waitingWords[run.waiting_for ?? "session"];

function doneDetail(run: Run, finished: ReactNode) {
  return (
    <>
      {finished}
      {run.duration_ms !== null && <>, took {durationOf(run.duration_ms)}</>}
    </>
  );
}

function Elapsed({ since }: { since: string }) {
  const now = useNow();
  return <>, for {spanOf(now - Date.parse(since))}</>;
}
