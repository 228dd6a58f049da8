// What the agent did on its way to an answer: a line for each tool call, which opens to what was given and what came back.
import { useState } from "react";
import { sentenceOf } from "../api/client";
import type { LiveStep } from "../api/live";
import { useTurn } from "../api/queries";
import type { ToolLine } from "../api/types";
import { Glyph, type Shape } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { plural } from "../parts/words";
import { durationOf } from "../time/format";
import { StepDetail } from "../turns/StepDetail";

const SHOWN = 4;

export function ToolLines({ turnId, lines }: { turnId: string; lines: ToolLine[] }) {
  const [all, setAll] = useState(lines.length <= SHOWN);
  // What went wrong is never folded away.
  const shown = all ? lines : lines.filter((line) => line.failed !== false).slice(0, SHOWN);
  return (
    <div className="mb-1.5">
      <ul aria-label="Tool calls">
        {shown.map((line) => (
          <Closed key={line.n} turnId={turnId} line={line} />
        ))}
      </ul>
      {!all && (
        <button type="button" className="link text-small" aria-expanded={false} onClick={() => setAll(true)}>
          Show all {plural(lines.length, "tool call")}
        </button>
      )}
    </div>
  );
}

function Closed({ turnId, line }: { turnId: string; line: ToolLine }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <button
        type="button"
        className="flex max-w-full items-center gap-2 py-0.5 text-left text-small text-mute hover:text-ink"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name={open ? "down" : "forward"} size={12} className="flex-none" />
        <Words
          name={line.name}
          about={line.about}
          shape={line.failed ? "error" : line.failed === null ? "waiting" : null}
          state={line.failed ? "failed" : line.failed === null ? "outcome unknown" : ""}
          ms={line.duration_ms}
        />
      </button>
      {open && <Opened turnId={turnId} n={line.n} />}
    </li>
  );
}

/** Asked for when it is opened: a transcript of a thousand calls costs no more than its words. */
function Opened({ turnId, n }: { turnId: string; n: number }) {
  const { data: turn, error } = useTurn(turnId);
  const step = turn?.steps.find((one) => one.n === n);
  return (
    <div className="mt-1 mb-2 ml-5">
      {step ? (
        <StepDetail step={step} />
      ) : (
        <p className="text-small text-mute">
          {error ? sentenceOf(error) : turn ? "This call is no longer on record." : "Loading"}
        </p>
      )}
    </div>
  );
}

/** The calls of an answer in progress. */
export function LiveToolLines({ steps }: { steps: LiveStep[] }) {
  const calls = steps.filter((step) => step.kind === "tool");
  if (calls.length === 0) return null;
  return (
    <ul aria-label="Tool calls" className="mb-1.5">
      {calls.map((step) => {
        const running = step.state === "started";
        return (
          <li key={step.n} className="flex items-center gap-2 py-0.5 text-small text-mute">
            <Words
              name={step.name}
              about={step.about}
              shape={running ? "running" : step.failed ? "error" : "ok"}
              state={running ? "running" : step.failed ? "failed" : ""}
              ms={step.duration_ms}
            />
          </li>
        );
      })}
    </ul>
  );
}

type WordsProps = { name: string; about: string; shape: Shape | null; state: string; ms: number | null };

function Words({ name, about, shape, state, ms }: WordsProps) {
  return (
    <>
      {shape && <Glyph shape={shape} size={11} />}
      <span className="flex-none font-mono text-[0.93em]">{name}</span>
      {about && <span className="min-w-0 truncate">{about}</span>}
      {state && <span className={`flex-none ${state === "failed" ? "text-bad" : ""}`}>· {state}</span>}
      {ms !== null && ms > 0 && <span className="flex-none">· {durationOf(ms)}</span>}
    </>
  );
}
