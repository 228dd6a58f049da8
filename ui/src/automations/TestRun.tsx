// Test an automation: what it would say now. Nothing is written into its conversation, and only read-only tools are called.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import { sentenceOf } from "../api/client";
import { cancelTurn, getTurn, tryJob } from "../api/operations";
import type { Job, Trial, Turn } from "../api/types";
import { Icon } from "../parts/Icon";
import { Markdown } from "../parts/Markdown";
import { ServerText } from "../parts/ServerText";
import { toastError } from "../parts/toasts";
import { capital } from "../parts/words";
import { Link, pathTo } from "../router";
import { durationOf } from "../time/format";
import { dollars } from "../turns/Spent";

type State = { trial: Trial | null; error: string | null; asked: number };
const LOOK_MS = 700;

/** The trial of one automation at a time, and how to begin it. */
export function useTestRun(job: Job) {
  const [state, setState] = useState<State | null>(null);
  const turnId = state?.trial?.id ?? null;
  const { data: turn } = useQuery({
    queryKey: ["trial", turnId],
    queryFn: () => getTurn(turnId as string),
    enabled: turnId !== null,
    refetchInterval: ({ state: { data } }) => (data?.state === "closed" ? false : LOOK_MS),
  });
  const over =
    state !== null && (state.error !== null || (state.trial !== null && (!turnId || turn?.state === "closed")));

  async function begin() {
    const asked = (state?.asked ?? 0) + 1;
    setState({ trial: null, error: null, asked });
    try {
      const trial = await tryJob(job.id);
      setState((now) => (now?.asked === asked ? { ...now, trial } : now));
    } catch (error) {
      setState((now) => (now?.asked === asked ? { ...now, error: sentenceOf(error) } : now));
    }
  }

  return { begin, close: () => setState(null), state, turn, running: state !== null && !over };
}

export function TestResult({ test }: { test: ReturnType<typeof useTestRun> }) {
  const { state, turn, running, close } = test;
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  const asked = state?.asked ?? 0;
  useEffect(() => {
    if (asked > 0) heading.current?.focus();
  }, [asked]);
  if (!state) return null;
  const { trial, error } = state;
  return (
    <section aria-labelledby={id} className="mt-4 rounded-md border px-4 py-3">
      <div className="flex items-start justify-between gap-3">
        <div>
          <h2 id={id} ref={heading} tabIndex={-1} className="outline-none">
            Test
          </h2>
          <p className="text-small text-mute">Nothing is written into the conversation or sent to anyone.</p>
        </div>
        {running && trial?.session_key ? (
          <button type="button" className="button" onClick={() => void stop(trial)}>
            <Icon name="stop" size={14} /> Stop
          </button>
        ) : (
          <button type="button" className="icon-button -mt-1 -mr-2" aria-label="Close the test" onClick={close}>
            <Icon name="close" size={16} />
          </button>
        )}
      </div>
      <div aria-live="polite" aria-busy={running} className="mt-2">
        {running && <p className="text-mute">Testing…</p>}
        {error && <Failure text={error} />}
        {trial?.script && <Script trial={trial} />}
        {!running && trial && (turn ? <Ended turn={turn} /> : !trial.id && <Words trial={trial} />)}
      </div>
    </section>
  );
}

async function stop(trial: Trial) {
  try {
    await cancelTurn(trial.session_key ?? "", trial.id ?? undefined);
  } catch (error) {
    toastError(error);
  }
}

const Failure = ({ text }: { text: string }) => (
  <p role="alert" className="rounded-md bg-bad-tint px-3 py-2 text-bad">
    <ServerText text={text} />
  </p>
);

function Script({ trial: { script } }: { trial: Trial }) {
  if (!script) return null;
  if (script.fault) return <Failure text={script.fault} />;
  return (
    <p className="mb-2 text-small text-mute">
      {script.result?.wakeAgent
        ? "Its script found something to do."
        : "Its script found nothing to do, so it would stay silent."}
    </p>
  );
}

/** A reminder or an event: no model is asked for it. */
function Words({ trial }: { trial: Trial }) {
  if (!trial.answer) return null;
  return (
    <>
      <p className="mb-1 text-small text-mute">It would say:</p>
      <Markdown text={trial.answer} />
    </>
  );
}

function Ended({ turn }: { turn: Turn }) {
  const calls = turn.would_have_called ?? [];
  const cost = turn.usage.cost_usd ? dollars(turn.usage.cost_usd) : "";
  const took = turn.duration_ms === null ? "" : `took ${durationOf(turn.duration_ms)}`;
  return (
    <>
      {turn.outcome === "failed" ? (
        <Failure text={turn.error_summary ?? turn.answer ?? "It failed."} />
      ) : (
        <Markdown text={turn.answer ?? ""} />
      )}
      {calls.length > 0 && (
        <div className="mt-3">
          <h3 className="text-small font-semibold">Would have called</h3>
          <ul className="mt-1 flex flex-col gap-1.5">
            {calls.map((call, index) => (
              <li key={index} className="text-small">
                <span className="font-mono">{call.name}</span>
                <pre
                  className="mt-0.5 overflow-x-auto whitespace-pre-wrap rounded bg-tint px-2 py-1 font-mono text-fine [overflow-wrap:anywhere]"
                  tabIndex={0}
                  aria-label={`Arguments of ${call.name}`}
                >
                  {pretty(call.arguments)}
                </pre>
              </li>
            ))}
          </ul>
        </div>
      )}
      <p className="mt-3 text-small text-mute">
        {[capital(turn.outcome_words ?? ""), took, cost].filter(Boolean).join(", ")}.{" "}
        <Link to={pathTo.turn(turn.id)} className="link">
          All steps
        </Link>
      </p>
    </>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
