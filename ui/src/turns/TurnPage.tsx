// One turn, with everything on record: what opened it, who worked, each step, what it cost, and what went wrong on the way.
import type { ReactNode } from "react";
import { Refusal } from "../api/client";
import { useAgents, useMyZone, useSession, useTurn } from "../api/queries";
import type { Turn } from "../api/types";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Fact, Facts } from "../parts/Facts";
import { Glyph, shapeOfTurn } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { SessionName } from "../parts/SessionName";
import { useTitle } from "../parts/useTitle";
import { capital, sourceWord } from "../parts/words";
import { Link, pathTo } from "../router";
import { durationOf } from "../time/format";
import { Stamp } from "../time/Time";
import { Retries } from "./Retries";
import { Cost, Tokens } from "./Spent";
import { TurnSteps } from "./TurnSteps";
import { WentWrong } from "./WentWrong";

export default function TurnPage({ turnId }: { turnId: string }) {
  const { data: turn, error, isPending, refetch } = useTurn(turnId);
  useTitle(turn && "One answer in detail");
  if (isPending)
    return (
      <div className="page">
        <Loading rows={6} />
      </div>
    );
  if (error instanceof Refusal && error.status === 404)
    return (
      <EmptyState icon="chat" title="There is no such turn">
        It was deleted with its conversation, or it belongs to somebody else.
      </EmptyState>
    );
  if (!turn) return <LoadError error={error} again={() => void refetch()} />;
  return <Whole turn={turn} />;
}

const outcomeOfTurn = (turn: Turn): string =>
  capital([turn.outcome_words ?? "running", turn.reason_words].filter(Boolean).join(": "));

function Whole({ turn }: { turn: Turn }) {
  const mine = useMyZone();
  const zone = useSession(turn.session_key).data?.timezone || mine;
  const seq = turn.closing_seq ?? turn.opening_seq;
  return (
    <div className="page">
      <Link
        to={seq === null ? pathTo.chat(turn.session_key) : pathTo.message(turn.session_key, seq)}
        className="mb-3 inline-flex items-center gap-1 text-small text-mute hover:text-ink"
      >
        <Icon name="back" size={14} /> <SessionName of={turn.session_key} />
      </Link>
      <header className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <div className="flex min-w-0 items-baseline gap-x-3">
          <Glyph shape={shapeOfTurn(turn)} size={15} className="flex-none translate-y-px" />
          <h1>{outcomeOfTurn(turn)}</h1>
        </div>
        <span className="text-mute">
          <Stamp at={turn.started_at} zone={zone} seconds />
        </span>
      </header>
      {(turn.error_summary || turn.error) && (
        <Part title="What went wrong">
          <WentWrong summary={turn.error_summary} error={turn.error ?? null} />
        </Part>
      )}
      {turn.retries.length > 0 && (
        <Part title="Tried again">
          <Retries retries={turn.retries} zone={zone} />
        </Part>
      )}
      <Part title="Steps">
        <TurnSteps turn={turn} zone={zone} />
      </Part>
      <Part title="On record">
        <Facts>
          <Fact name="Opened by">
            {capital(sourceWord[turn.source])}
            {turn.run_id && (
              <>
                {", "}
                <Link to={pathTo.run(turn.run_id)} className="link">
                  show its run
                </Link>
              </>
            )}
          </Fact>
          <Fact name="Agent">
            <Link to={pathTo.agent(turn.agent_id)} className="link">
              <AgentName id={turn.agent_id} />
            </Link>
          </Fact>
          <Fact name="Model">{turn.model}</Fact>
          <Fact name="Took">{turn.duration_ms === null ? "still running" : durationOf(turn.duration_ms)}</Fact>
          <Fact name="Tokens">
            <Tokens usage={turn.usage} />
          </Fact>
          <Fact name="Cost">
            <Cost usage={turn.usage} />
          </Fact>
          {turn.attempts > 1 && <Fact name="Attempts">{turn.attempts}, after a worker stopped in the middle</Fact>}
          <Fact name="Id">
            <code className="font-mono text-[0.9em]">{turn.id}</code>
          </Fact>
        </Facts>
      </Part>
    </div>
  );
}

function AgentName({ id }: { id: string }) {
  return useAgents().data?.find((agent) => agent.id === id)?.name ?? id;
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="mt-8">
      <h2 className="mb-2">{title}</h2>
      {children}
    </section>
  );
}
