// A schedule in the conversation: what, when, in which zone, the next three times with a countdown, and a way back.
import { Refusal } from "../api/client";
import { useJob } from "../api/queries";
import type { Card, CardChange, Job } from "../api/types";
import { useJobActions } from "../automations/actions";
import { Glyph, shapeOfJob } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { changeWord, doorWord, statusOf } from "../parts/words";
import { Link, pathTo } from "../router";
import { Relative, Wall, Zone } from "../time/Time";
import { NotifyOffer } from "./notify";

export function MessageCard({ card, whole }: { card: Card; whole: boolean }) {
  const { data: job, error, isPending } = useJob(card.job_id);
  const { undoChange } = useJobActions();
  const gone = (error instanceof Refusal && error.status === 404) || (job && job.removed_at !== null);

  if (isPending)
    return <div className="skeleton mt-3 h-24 max-w-[34rem]" role="status" aria-label="Loading automation" />;
  if (gone)
    return (
      <CardLine change="removed" name={job?.name ?? "automation"}>
        {card.change === "removed" && (
          <button
            type="button"
            className="link"
            onClick={() => void undoChange(card.job_id, card.revision, job?.name ?? "automation")}
          >
            Undo
          </button>
        )}
      </CardLine>
    );
  if (!job) return null;
  if (!whole) return <JobLine job={job} change={card.change} />;
  return <JobCard job={job} change={card.change} undoRevision={card.revision} />;
}

export function JobCard({ job, change, undoRevision }: { job: Job; change: CardChange; undoRevision: number | null }) {
  const { pause, resume, remove, undoChange } = useJobActions();
  const zone = job.schedule.tz ?? "UTC";
  const undoable = undoRevision !== null && job.revision === undoRevision && job.status !== "done";
  return (
    <section aria-label={`Automation ${job.name}`} className="mt-3 max-w-[34rem] rounded-lg border" data-card={job.id}>
      <div className="flex items-baseline gap-2.5 px-4 pt-3">
        <Glyph shape={shapeOfJob(job)} label={statusOf(job)} className="translate-y-px" />
        <Link to={pathTo.job(job.id)} className="min-w-0 font-semibold [overflow-wrap:anywhere] hover:underline">
          {job.name}
        </Link>
        {/* What was done, until the automation is in another state than that says. */}
        <span className="ml-auto flex-none text-fine text-mute">
          {job.status === "active" ? changeWord[change] : statusOf(job)}
        </span>
      </div>
      <div className="px-4 pt-1 pb-3">
        <p>{job.words}</p>
        <NextTimes job={job} zone={zone} />
        <details className="mt-2 text-small">
          <summary className="text-mute hover:text-ink">Full text</summary>
          <p className="mt-1 whitespace-pre-wrap [overflow-wrap:anywhere]">{job.payload.message}</p>
        </details>
        {undoRevision === null && (
          <p className="mt-2 text-fine text-mute">Created by {doorWord[job.origin.door] ?? job.origin.door}</p>
        )}
      </div>
      <div className="flex flex-wrap items-center gap-1 border-t px-2 py-1 max-xs:gap-0 max-xs:*:px-2">
        <Link to={pathTo.editJob(job.id)} className="button" data-look="plain">
          <Icon name="pencil" size={15} /> Edit
        </Link>
        {job.status !== "done" && (
          <button
            type="button"
            className="button"
            data-look="plain"
            onClick={() => void (job.enabled ? pause(job) : resume(job))}
          >
            <Icon name={job.enabled ? "pause" : "play"} size={15} /> {job.enabled ? "Pause" : "Resume"}
          </button>
        )}
        {undoable && (
          <button
            type="button"
            className="button"
            data-look="plain"
            onClick={() => void undoChange(job.id, undoRevision, job.name)}
          >
            <Icon name="undo" size={15} /> Undo
          </button>
        )}
        {job.kind !== "system" && (
          <button type="button" className="button" data-look="plain" onClick={() => void remove(job)}>
            <Icon name="trash" size={15} /> Delete
          </button>
        )}
        <NotifyOffer soon={job.next[0]} />
      </div>
    </section>
  );
}

function NextTimes({ job, zone }: { job: Job; zone: string }) {
  if (job.next.length === 0) return <p className="mt-1 text-mute">{quietReason(job)}</p>;
  return (
    <ol className="mt-2" aria-label="Next times">
      {job.next.slice(0, 3).map((at, index) => (
        <li key={at} className="flex flex-wrap items-baseline gap-x-2 border-t border-dashed py-1 first:border-t-0">
          <Wall at={at} zone={zone} seconds="if any" />
          {index === 0 && (
            <>
              <span className="hidden xs:inline">
                <Zone name={zone} />
              </span>
              <span className="xs:hidden">
                <Zone name={zone} short />
              </span>
            </>
          )}
          <Relative
            at={at}
            zone={zone}
            className={`ml-auto ${index === 0 ? "font-semibold text-accent" : "text-mute"}`}
          />
        </li>
      ))}
    </ol>
  );
}

export function quietReason(job: Job): string {
  if (job.state.active_run_id)
    return job.state.running_at ? "Running now." : "Due. It waits until this conversation is free.";
  if (job.status === "done") return "Done. No time is left on its schedule.";
  if (!job.enabled)
    return `Paused${job.state.disabled_words ? `: ${job.state.disabled_words.replace(/\.$/, "")}` : ""}. It will not run until it is resumed.`;
  return "No time is planned.";
}

export function JobLine({ job, change }: { job: Job; change: CardChange }) {
  return (
    <CardLine change={change} name={job.name}>
      <span>{job.words}</span>
      <Link to={pathTo.job(job.id)} className="link">
        Open
      </Link>
    </CardLine>
  );
}

function CardLine({ change, name, children }: { change: CardChange; name: string; children?: React.ReactNode }) {
  return (
    <p className="mt-2 flex flex-wrap items-center gap-x-2 text-small text-mute">
      <Icon name="clock" size={15} />
      <span>
        {changeWord[change]}: {name}
      </span>
      {children}
    </p>
  );
}
