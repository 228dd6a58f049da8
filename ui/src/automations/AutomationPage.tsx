// One automation: its last answer, how its runs went, why it did or did not run; its settings are folded below.
import { useQuery } from "@tanstack/react-query";
import { Refusal } from "../api/client";
import { listMessages, previewSchedule } from "../api/operations";
import { flat, useJob, useRuns } from "../api/queries";
import type { Job, Schedule } from "../api/types";
import { quietReason } from "../chat/JobCard";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Fact, Facts } from "../parts/Facts";
import { Glyph, shapeOfJob } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { ServerText } from "../parts/ServerText";
import { SessionName } from "../parts/SessionName";
import { useTitle } from "../parts/useTitle";
import { attentionOf, doorWord, payloadWord, plural, statusOf } from "../parts/words";
import { Link, navigate, pathTo } from "../router";
import { lengthOf } from "../time/format";
import { Relative, Stamp, Wall, Zone } from "../time/Time";
import { useJobActions } from "./actions";
import { JobMenu } from "./JobMenu";
import { LastAnswer } from "./LastAnswer";
import { RunBars } from "./RunBars";
import { RUNS_SHOWN, RunTable } from "./RunTable";
import { TestResult, useTestRun } from "./TestRun";
import { Why } from "./Why";

export default function AutomationPage({ jobId }: { jobId: string }) {
  const { data: job, error, isPending, refetch } = useJob(jobId);
  useTitle(job?.name);
  if (isPending)
    return (
      <div className="page">
        <Loading rows={6} />
      </div>
    );
  if ((error instanceof Refusal && error.status === 404) || job?.removed_at) return <Removed job={job} />;
  if (!job) return <LoadError error={error} again={() => void refetch()} />;
  return <Whole job={job} />;
}

function Whole({ job }: { job: Job }) {
  const zone = job.schedule.tz ?? "UTC";
  const runs = flat(useRuns({ job_id: job.id }, RUNS_SHOWN).data);
  return (
    <div className="page">
      <Link to="/automations" className="mb-3 inline-flex items-center gap-1 text-small text-mute hover:text-ink">
        <Icon name="back" size={14} /> Automations
      </Link>
      <Head job={job} zone={zone} />
      <LastAnswer runs={runs} zone={zone} />
      <section aria-labelledby="runs" className="mt-7">
        <h2 id="runs" className="mb-2">
          Runs
        </h2>
        {runs.length > 0 && <RunBars runs={runs} zone={zone} />}
        <RunTable jobId={job.id} zone={zone} />
      </section>
      <section aria-labelledby="why" className="mt-7">
        <h2 id="why" className="mb-2">
          Why did it, or didn't it?
        </h2>
        <Why jobId={job.id} zone={zone} />
      </section>
      <details className="mt-7 border-y">
        <summary className="py-3 font-semibold">
          Settings <span className="font-normal text-mute">when, what, and where it comes from</span>
        </summary>
        <Settings job={job} zone={zone} />
      </details>
    </div>
  );
}

function Settings({ job, zone }: { job: Job; zone: string }) {
  return (
    <div className="pb-5">
      <section aria-labelledby="when">
        <h2 id="when" className="mb-2">
          When
        </h2>
        <Facts>
          <Fact name="Schedule">{job.words}</Fact>
          <Fact name={job.schedule.kind === "cron" ? "Expression" : "Kind"}>
            <ExactSchedule schedule={job.schedule} />
          </Fact>
          <Fact name="Time zone">{zone}</Fact>
          <Fact name="Next">
            <NextFive job={job} zone={zone} />
          </Fact>
          <Bounds job={job} zone={zone} />
          <Fact name="If missed">{catchUpWords(job)}</Fact>
        </Facts>
      </section>
      <What job={job} />
      <Origin job={job} zone={zone} />
    </div>
  );
}

function Head({ job, zone }: { job: Job; zone: string }) {
  const { pause, resume, runNow } = useJobActions();
  const test = useTestRun(job);
  const mine = job.kind !== "system";
  const { active_run_id: active, consecutive_failures: failures } = job.state;
  return (
    <header>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="flex max-w-full min-w-0 items-baseline gap-x-3">
          <Glyph shape={shapeOfJob(job)} size={15} className="flex-none translate-y-px" />
          <h1 className="min-w-0 [overflow-wrap:anywhere]">{job.name}</h1>
          <span className="flex-none text-mute">{statusOf(job)}</span>
        </div>
        <div className="ml-auto flex flex-wrap items-center gap-1.5">
          {mine && (
            <>
              <button type="button" className="button" disabled={test.running} onClick={() => void test.begin()}>
                Test
              </button>
              <button type="button" className="button" disabled={active !== null} onClick={() => void runNow(job)}>
                Run now
              </button>
              {job.status !== "done" && (
                <button type="button" className="button" onClick={() => void (job.enabled ? pause(job) : resume(job))}>
                  {job.enabled ? "Pause" : "Resume"}
                </button>
              )}
              <Link to={pathTo.editJob(job.id)} className="button">
                Edit
              </Link>
            </>
          )}
          <JobMenu job={job} onRemoved={() => navigate("/automations")} />
        </div>
      </div>
      <p className="mt-1.5 text-mute">
        {job.words}
        {job.next[0] && (
          <>
            {" · next "}
            <Relative at={job.next[0]} zone={zone} />
          </>
        )}
        {" · "}
        <Link to={pathTo.chat(job.session_key)} className="link">
          <SessionName of={job.session_key} />
        </Link>
      </p>
      {job.description && <p className="mt-2 max-w-[44rem] text-mute">{job.description}</p>}
      {active && (
        <p className="mt-3 flex items-center gap-2">
          <Glyph shape={job.state.running_at ? "running" : "waiting"} />
          <Link to={pathTo.run(active)} className="link">
            {job.state.running_at ? "Running now" : "Waiting for its turn"}
          </Link>
        </p>
      )}
      {job.status === "attention" && (
        <p role="alert" className="mt-3 rounded-md bg-bad-tint px-3 py-2 text-bad">
          <ServerText text={attentionOf(job)} />
          {failures > 1 && ` ${plural(failures, "failure")} in a row.`}
        </p>
      )}
      <TestResult test={test} />
    </header>
  );
}

function ExactSchedule({ schedule }: { schedule: Schedule }) {
  if (schedule.kind === "cron") return <code className="font-mono">{schedule.cron}</code>;
  if (schedule.kind === "at") return <>Once</>;
  return (
    <>
      Every {lengthOf(schedule.every_ms)} (<code className="font-mono">{schedule.every_ms}</code> ms)
      {schedule.anchor && (
        <>
          , counted from <Stamp at={schedule.anchor} zone={schedule.tz ?? "UTC"} seconds />
        </>
      )}
    </>
  );
}

/** The job carries its next three; two more come from the same function that will fire them. */
function NextFive({ job, zone }: { job: Job; zone: string }) {
  const more = useQuery({
    queryKey: ["next", job.id, job.revision, job.next.at(-1) ?? ""],
    queryFn: () => previewSchedule({ schedule: job.schedule, count: 5, after: job.next.at(-1) }),
    enabled: job.next.length >= 3 && job.max_runs === null && job.schedule.kind !== "at",
  });
  const ends = job.ends_at ? Date.parse(job.ends_at) : Number.POSITIVE_INFINITY;
  const last = Date.parse(job.next.at(-1) ?? "");
  const later = (more.data?.next ?? []).filter((at) => Date.parse(at) > last && Date.parse(at) <= ends);
  const times = [...job.next, ...later].slice(0, 5);
  if (times.length === 0) return <span className="text-mute">{quietReason(job)}</span>;
  return (
    <ol>
      {times.map((at) => (
        <li key={at} className="flex gap-x-6">
          <Wall at={at} zone={zone} seconds="if any" />
          <Relative at={at} zone={zone} className="text-mute" />
        </li>
      ))}
    </ol>
  );
}

function Bounds({ job, zone }: { job: Job; zone: string }) {
  if (!job.starts_at && !job.ends_at && job.max_runs === null) return null;
  return (
    <Fact name="Bounds">
      {job.starts_at && (
        <span className="mr-4">
          from <Stamp at={job.starts_at} zone={zone} />
        </span>
      )}
      {job.ends_at && (
        <span className="mr-4">
          until <Stamp at={job.ends_at} zone={zone} />
        </span>
      )}
      {job.max_runs !== null && <span>at most {plural(job.max_runs, "run")}</span>}
    </Fact>
  );
}

export function catchUpWords(job: Pick<Job, "catch_up" | "catch_up_window_seconds">): string {
  if (job.catch_up === "skip") return "A missed time is left out and recorded.";
  return `The newest missed time runs once, if it is less than ${lengthOf(job.catch_up_window_seconds * 1000)} old.`;
}

function What({ job }: { job: Job }) {
  const { payload } = job;
  return (
    <section aria-labelledby="what" className="mt-7">
      <h2 id="what" className="mb-2">
        What
      </h2>
      <Facts>
        <Fact name="Kind">{payloadWord[payload.kind]}</Fact>
        <Fact name="Message">
          <p className="whitespace-pre-wrap">{payload.message}</p>
        </Fact>
        <Fact name="Conversation">
          <Link to={pathTo.chat(job.session_key)} className="link">
            <SessionName of={job.session_key} />
          </Link>
        </Fact>
        {payload.kind === "agent_turn" && (
          <>
            <Fact name="Runs">
              {job.session === "main"
                ? "in that conversation, as one of its turns"
                : `apart, in a session of its own; it reports back ${job.write_back === "none" ? "nothing" : `the ${job.write_back === "full" ? "full text" : "summary"}`}`}
            </Fact>
            <Fact name="Reads">
              {
                {
                  session: "the conversation so far",
                  since_last: "what was said since its last run",
                  none: "only its message",
                }[payload.context ?? "session"]
              }
            </Fact>
            {payload.model && <Fact name="Model">{payload.model}</Fact>}
            {payload.thinking && <Fact name="Thinking">{payload.thinking}</Fact>}
            <Fact name="Time limit">
              {payload.timeout_seconds
                ? lengthOf(payload.timeout_seconds * 1000)
                : payload.timeout_seconds === 0
                  ? "none"
                  : "the server's"}
            </Fact>
          </>
        )}
        {job.quiet && <Fact name="Quiet">says nothing when there is no news</Fact>}
        {job.delete_after_run && <Fact name="Afterwards">deleted after it succeeds</Fact>}
      </Facts>
      <details className="mt-2 text-small">
        <summary className="text-mute hover:text-ink">As stored</summary>
        <pre
          className="mt-2 overflow-x-auto rounded-md border bg-tint p-3 font-mono text-fine"
          tabIndex={0}
          aria-label="Payload as stored"
        >
          {JSON.stringify({ schedule: job.schedule, payload: job.payload }, null, 2)}
        </pre>
      </details>
    </section>
  );
}

function Origin({ job, zone }: { job: Job; zone: string }) {
  return (
    <section aria-labelledby="origin" className="mt-7">
      <h2 id="origin" className="mb-2">
        Where it comes from
      </h2>
      <Facts>
        <Fact name="Created by">
          {doorWord[job.origin.door] ?? job.origin.door}
          {job.origin.turn_id && <OriginLink sessionKey={job.session_key} turnId={job.origin.turn_id} />}
        </Fact>
        <Fact name="Created">
          <Stamp at={job.created_at} zone={zone} />
        </Fact>
        <Fact name="Last changed">
          <Stamp at={job.updated_at} zone={zone} /> <Zone name={`revision ${job.revision}`} />
        </Fact>
        <Fact name="Id">
          <code className="font-mono text-[0.9em]">{job.id}</code>
        </Fact>
      </Facts>
    </section>
  );
}

/** The message that made it, if it is among the newest; a turn has no address of its own. */
function OriginLink({ sessionKey, turnId }: { sessionKey: string; turnId: string }) {
  const found = useQuery({ queryKey: ["origin", sessionKey, turnId], queryFn: () => findTurn(sessionKey, turnId) });
  return (
    <>
      {", "}
      <Link to={found.data ? pathTo.message(sessionKey, found.data) : pathTo.chat(sessionKey)} className="link">
        {found.data ? "show that message" : "show the conversation"}
      </Link>
    </>
  );
}

const PAGES = 5;

async function findTurn(sessionKey: string, turnId: string): Promise<number | null> {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const { items, next_cursor: older } = await listMessages(sessionKey, { limit: 200, cursor });
    const found = items.find((message) => message.turn_id === turnId);
    if (found) return found.seq;
    if (!older) return null;
    cursor = older;
  }
  return null;
}

function Removed({ job }: { job: Job | undefined }) {
  const { undoChange } = useJobActions();
  return (
    <EmptyState icon="clock" title={job ? `“${job.name}” was deleted` : "There is no such automation"}>
      {job ? (
        <button type="button" className="link" onClick={() => void undoChange(job.id, job.revision, job.name)}>
          Bring it back
        </button>
      ) : (
        <Link to="/automations" className="link">
          Show all automations
        </Link>
      )}
    </EmptyState>
  );
}
