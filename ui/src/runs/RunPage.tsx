// One run, with everything on record: its way, its prompt as rendered, what was said, each step, the error, the deliveries.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { placeRun } from "../api/cache";
import { Refusal, sentenceOf } from "../api/client";
import { cancelRun, listMessages } from "../api/operations";
import { isOver, useJob, useMyZone, useRun } from "../api/queries";
import type { Gate, Message, Run, Step } from "../api/types";
import { MessageView } from "../chat/MessageView";
import { useSeen } from "../inbox/seen";
import { Box } from "../parts/Box";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Fact, Facts } from "../parts/Facts";
import { Glyph, shapeOfDelivery, shapeOfRun } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { ServerText } from "../parts/ServerText";
import { SessionName } from "../parts/SessionName";
import { toast, toastError } from "../parts/toasts";
import { useTitle } from "../parts/useTitle";
import { capital, outcomeOf, plural } from "../parts/words";
import { Link, pathTo } from "../router";
import { nowMs } from "../time/clock";
import { durationOf, stampOf } from "../time/format";
import { Stamp } from "../time/Time";
import { Retries } from "../turns/Retries";
import { Cost, Tokens } from "../turns/Spent";
import { WentWrong } from "../turns/WentWrong";
import { RunTimeline } from "./RunTimeline";

export default function RunPage({ runId }: { runId: string }) {
  const { data: run, error, isPending, refetch } = useRun(runId);
  useTitle(run && `Run of ${run.job_name}`);
  useSeen("failure", runId);
  if (isPending)
    return (
      <div className="page">
        <Loading rows={6} />
      </div>
    );
  if (error instanceof Refusal && error.status === 404)
    return (
      <EmptyState icon="clock" title="There is no such run">
        Runs are kept for some months.{" "}
        <Link to="/automations" className="link">
          Show the automations
        </Link>
      </EmptyState>
    );
  if (!run) return <LoadError error={error} again={() => void refetch()} />;
  return <Whole run={run} />;
}

function Whole({ run }: { run: Run }) {
  const job = useJob(run.job_id).data;
  const mine = useMyZone();
  const zone = job?.schedule.tz ?? mine;
  return (
    <div className="page">
      <Link
        to={pathTo.job(run.job_id)}
        className="mb-3 inline-flex items-center gap-1 text-small text-mute hover:text-ink"
      >
        <Icon name="back" size={14} /> {run.job_name}
      </Link>
      <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="flex min-w-0 items-baseline gap-x-3">
          <Glyph shape={shapeOfRun(run.state)} size={15} className="flex-none translate-y-px" />
          <h1>{outcomeOf(run)}</h1>
        </div>
        <span className="text-mute">
          <Stamp at={run.scheduled_for} zone={zone} seconds />
        </span>
        {!isOver(run) && <CancelButton run={run} />}
      </header>
      {/* What was said stands below, whole; a summary is for runs that said nothing here. */}
      {run.summary && run.opening_seq === null && <p className="mt-2 max-w-[44rem] text-mute">{run.summary}</p>}
      <div className="mt-7">
        <RunTimeline run={run} zone={zone} />
      </div>
      {run.error && (
        <Part title="What went wrong">
          <WentWrong summary={run.error_summary} error={run.error} />
        </Part>
      )}
      {run.retries && run.retries.length > 0 && (
        <Part title="Tried again">
          <Retries retries={run.retries} zone={zone} />
        </Part>
      )}
      {run.opening_seq !== null && (
        <Part title="What was said">
          <Slice run={run} zone={zone} />
        </Part>
      )}
      {run.steps && run.steps.length > 0 && (
        <Part title="Steps">
          <Steps steps={run.steps} />
          {run.turn_id && (
            <Link to={pathTo.turn(run.turn_id)} className="link mt-2 inline-block text-small">
              Show each step with input and result
            </Link>
          )}
        </Part>
      )}
      {run.deliveries && run.deliveries.length > 0 && (
        <Part title="Deliveries">
          <ul className="border-t">
            {run.deliveries.map((delivery) => (
              <li key={delivery.id} className="flex flex-wrap items-baseline gap-x-3 border-b py-2">
                <Glyph shape={shapeOfDelivery(delivery.state)} label={delivery.state} className="translate-y-px" />
                <span className="[overflow-wrap:anywhere]">{delivery.address}</span>
                <span className="text-mute">{plural(delivery.attempts, "attempt")}</span>
                {delivery.error && (
                  <span className="text-bad">
                    <ServerText text={delivery.error} />
                  </span>
                )}
              </li>
            ))}
          </ul>
          <Link to="/deliveries" className="link mt-2 inline-block text-small">
            All deliveries
          </Link>
        </Part>
      )}
      {run.gate && (
        <Part title="What its script printed">
          <Printed gate={run.gate} />
        </Part>
      )}
      {run.prompt && (
        <Part title="Prompt as rendered">
          <pre
            className="max-h-[28rem] overflow-auto rounded-md border bg-tint px-4 py-3 font-mono text-fine whitespace-pre-wrap"
            tabIndex={0}
            aria-label="Prompt as rendered"
          >
            {run.prompt}
          </pre>
          {run.prompt_ref && (
            <p className="mt-1 text-fine text-mute [overflow-wrap:anywhere]">
              {run.prompt_ref.id}, version {run.prompt_ref.version}, {run.prompt_ref.sha256.slice(0, 12)}
            </p>
          )}
        </Part>
      )}
      <Part title="On record">
        <Record run={run} zone={zone} />
      </Part>
    </div>
  );
}

const ends: Record<Gate["ended"], string> = {
  exit: "It ended",
  timeout: "It took longer than it may",
  output: "It printed more than it may",
  lost: "Its worker stopped three times in the middle",
};

function Printed({ gate }: { gate: Gate }) {
  const code = gate.ended === "exit" && gate.code !== 0 ? ` with exit code ${gate.code}` : "";
  return (
    <div className="flex flex-col gap-3">
      <p className={gate.ended === "exit" && gate.code === 0 ? "text-mute" : "text-bad"}>
        {ends[gate.ended]}
        {code}.
      </p>
      {gate.out?.trim() && <Box title="Printed" text={gate.out} />}
      {gate.err?.trim() && <Box title="Errors" text={gate.err} />}
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="mt-8">
      <h2 className="mb-2">{title}</h2>
      {children}
    </section>
  );
}

function CancelButton({ run }: { run: Run }) {
  const client = useQueryClient();
  const [asked, setAsked] = useState(false);
  async function cancel() {
    setAsked(true);
    try {
      placeRun(client, await cancelRun(run.id));
      toast({ text: `Cancelling: ${run.job_name}` });
    } catch (error) {
      toastError(error);
      setAsked(false);
    }
  }
  return (
    <button type="button" className="button ml-auto" data-look="bad" disabled={asked} onClick={() => void cancel()}>
      <Icon name="stop" size={14} /> {asked ? "Cancelling" : "Cancel run"}
    </button>
  );
}

const nowhere = () => undefined;

/** A run of its conversation is found there by its turn; one that ran apart has a session of its own, named after it. */
async function readSlice(run: Run): Promise<{ key: string; messages: Message[] }> {
  const from = run.opening_seq ?? 0;
  const limit = Math.min(200, (run.closing_seq ?? from + 20) - from + 1);
  const read = async (key: string) =>
    (await listMessages(key, { after: from - 1, limit })).items.filter((message) =>
      run.turn_id ? message.turn_id === run.turn_id : message.seq === from || message.seq === run.closing_seq,
    );
  const here = await read(run.session_key);
  if (here.length > 0 || run.turn_id === null) return { key: run.session_key, messages: here };
  const apart = `cron:${run.id}`;
  return { key: apart, messages: await read(apart) };
}

function Slice({ run, zone }: { run: Run; zone: string }) {
  const from = run.opening_seq ?? 0;
  const slice = useQuery({ queryKey: ["slice", run.id, from, run.closing_seq], queryFn: () => readSlice(run) });
  if (slice.isPending) return <Loading rows={2} />;
  if (slice.isError) return <p className="text-mute">{sentenceOf(slice.error)}</p>;
  const { key, messages } = slice.data;
  return (
    <div className="border-y">
      {messages.map((message, index) => (
        <MessageView
          key={message.seq}
          message={message}
          zone={zone}
          follows={index > 0}
          cardOf={nowhere}
          marked={false}
        />
      ))}
      <p className="py-2">
        <Link to={pathTo.message(key, from)} className="link text-small">
          {key === run.session_key ? "Show in the conversation" : "Show the session of this run"}
        </Link>
      </p>
    </div>
  );
}

function Steps({ steps }: { steps: Step[] }) {
  const longest = Math.max(1, ...steps.map((step) => step.duration_ms ?? 0));
  return (
    <ol className="border-t">
      {steps.map((step) => (
        <li
          key={step.n}
          className="grid grid-cols-[auto_minmax(0,1fr)_5rem] items-center gap-x-3 border-b py-1.5 sm:grid-cols-[auto_12rem_minmax(0,1fr)_5rem]"
        >
          <Icon name={step.kind === "model" ? "spark" : "tool"} size={15} className="text-mute" />
          <span className="min-w-0 truncate">
            <span className="sr-only">{step.kind === "model" ? "Model call: " : "Tool call: "}</span>
            {step.name}
          </span>
          <span className="hidden h-1.5 sm:block" aria-hidden="true">
            <span
              className="block h-full min-w-px rounded-full bg-edge"
              style={{ width: `${((step.duration_ms ?? 0) / longest) * 100}%` }}
            />
          </span>
          <span className="text-right text-mute">
            {step.duration_ms !== null ? durationOf(step.duration_ms) : "begun"}
          </span>
        </li>
      ))}
    </ol>
  );
}

function Record({ run, zone }: { run: Run; zone: string }) {
  return (
    <Facts>
      <Fact name="Trigger">{capital(run.trigger_words)}</Fact>
      {run.attempt > 1 && <Fact name="Attempts">{run.attempt}</Fact>}
      {run.missed_count !== null && (
        <Fact name="Missed">
          {plural(run.missed_count, "time")}
          {run.missed_until && `, until ${stampOf(Date.parse(run.missed_until), zone, nowMs())} ${zone}`}
        </Fact>
      )}
      {run.usage && (run.usage.input_tokens > 0 || run.usage.output_tokens > 0) && (
        <>
          <Fact name="Tokens">
            <Tokens usage={run.usage} />
          </Fact>
          <Fact name="Cost">
            <Cost usage={run.usage} />
          </Fact>
        </>
      )}
      <Fact name="Conversation">
        <Link to={pathTo.chat(run.session_key)} className="link">
          <SessionName of={run.session_key} />
        </Link>
      </Fact>
      {run.variables && Object.keys(run.variables).length > 0 && (
        <Fact name="Variables">
          <pre className="overflow-x-auto font-mono text-fine whitespace-pre-wrap" tabIndex={0} aria-label="Variables">
            {JSON.stringify(run.variables, null, 2)}
          </pre>
        </Fact>
      )}
      <Fact name="Id">
        <code className="font-mono text-[0.9em]">{run.id}</code>
      </Fact>
    </Facts>
  );
}
