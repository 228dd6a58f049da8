// What this conversation is doing: the turn that runs, and what stands in line behind it, and for what it waits.
import { useState } from "react";
import { useLiveTurn } from "../api/live";
import { cancelTurn } from "../api/operations";
import type { Job, Session, Waiting } from "../api/types";
import { Glyph } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { toastError } from "../parts/toasts";
import { plural, sourceWord, waitingForWord } from "../parts/words";
import { Link, pathTo } from "../router";
import { useNow } from "../time/clock";
import { spanOf } from "../time/format";
import { useOutbox } from "./outbox";

const SHOWN = 3;

export function Lane({ session, jobs }: { session: Session; jobs: Job[] }) {
  // What is about to begin is not shown as waiting: the lane would blink at every message.
  const now = useNow();
  // What was sent from here stands in the transcript already, with what will become of it.
  const own = new Set(useOutbox(session.key).map((one) => one.inboundId));
  const waiting = session.lane.filter(
    (one) => !own.has(one.inbound_id) && (session.state === "running" || now - Date.parse(one.queued_at) > 1000),
  );
  // Its line is kept free: the text above must not jump at every message.
  if (session.state === "idle" && waiting.length === 0) return <div className="min-h-[2.53rem]" />;
  return (
    <section aria-label="What runs and what waits" className="min-h-[2.53rem] border-t pt-1.5 pb-0.5 text-small">
      {session.turn && <RunningLine session={session} jobs={jobs} />}
      <ul>
        {waiting.slice(0, SHOWN).map((one) => (
          <WaitingLine key={one.inbound_id} waiting={one} jobs={jobs} idle={session.state === "idle"} />
        ))}
      </ul>
      {session.lane_size > SHOWN && (
        <p className="pl-[1.4rem] text-mute">and {plural(session.lane_size - SHOWN, "more", "more")} in line</p>
      )}
    </section>
  );
}

function RunningLine({ session, jobs }: { session: Session; jobs: Job[] }) {
  const turn = session.turn;
  const live = useLiveTurn(session.key);
  const now = useNow();
  const [stopping, setStopping] = useState(false);
  if (!turn) return null;
  const step = live?.steps.filter((one) => one.state === "started").at(-1);

  async function stop() {
    setStopping(true);
    try {
      await cancelTurn(session.key, turn?.id);
    } catch (error) {
      toastError(error);
    }
    setStopping(false);
  }

  return (
    <div className="flex min-h-8 items-center gap-2.5">
      <Glyph shape="running" />
      <span className="min-w-0 truncate">
        {turn.source === "person" ? (
          "Answering you"
        ) : (
          <>Working on {nameOfRun(turn.run_id, jobs) ?? sourceWord[turn.source]}</>
        )}
        {live?.retry && (
          <span className="text-wait">
            , {live.retry.why}, next try {live.retry.until > now ? `in ${spanOf(live.retry.until - now)}` : "now"}
          </span>
        )}
        {step?.kind === "tool" && <span className="text-mute">, using {step.name}</span>}
      </span>
      {turn.run_id && (
        <Link to={pathTo.run(turn.run_id)} className="link flex-none">
          Details
        </Link>
      )}
      <span className="ml-auto flex-none text-mute">{spanOf(now - Date.parse(turn.started_at))}</span>
      <button type="button" className="button !min-h-8 flex-none" disabled={stopping} onClick={() => void stop()}>
        <Icon name="stop" size={14} /> Stop
      </button>
    </div>
  );
}

function WaitingLine({ waiting, jobs, idle }: { waiting: Waiting; jobs: Job[]; idle: boolean }) {
  const name = waiting.source === "person" ? `“${waiting.text}”` : (nameOfRun(waiting.run_id, jobs) ?? waiting.text);
  return (
    <li className="flex min-h-7 items-center gap-2.5">
      <Glyph shape="waiting" label="Waiting" />
      <span className="min-w-0 truncate">{name}</span>
      <span className="ml-auto flex-none text-small text-mute">
        {waiting.source === "person"
          ? "next in line"
          : idle && waiting.waiting_for === "session"
            ? "goes along with the next turn"
            : waitingForWord(waiting.waiting_for)}
      </span>
    </li>
  );
}

export function nameOfRun(runId: string | null, jobs: Job[]): string | undefined {
  return runId ? jobs.find((job) => job.id === runId.split(":")[0])?.name : undefined;
}
