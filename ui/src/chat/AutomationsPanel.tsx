// This conversation's own automations. It shows and pauses; running one now is done on the automation's page.
import type { Job } from "../api/types";
import { useJobActions } from "../automations/actions";
import { Glyph, shapeOfJob } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { Tooltip } from "../parts/Tooltip";
import { statusOf } from "../parts/words";
import { Link, pathTo } from "../router";
import { Relative } from "../time/Time";
import { quietReason } from "./JobCard";

export function AutomationsPanel({ jobs, sessionKey, more }: { jobs: Job[]; sessionKey: string; more: boolean }) {
  return (
    <div className="px-4 pb-4">
      {jobs.length === 0 && (
        <p className="py-4 text-mute">Nothing is scheduled here yet. Ask for it in your own words, or make one.</p>
      )}
      <ul className="divide-y">
        {jobs.map((job) => (
          <PanelRow key={job.id} job={job} />
        ))}
      </ul>
      {more && (
        <Link to={`/automations?session=${encodeURIComponent(sessionKey)}`} className="link mt-2 block text-small">
          Show all of this conversation
        </Link>
      )}
      <Link to={`/automations/new?session=${encodeURIComponent(sessionKey)}`} className="button mt-4">
        <Icon name="plus" size={15} /> New automation
      </Link>
    </div>
  );
}

function PanelRow({ job }: { job: Job }) {
  const { pause, resume } = useJobActions();
  const next = job.next[0];
  const active = job.state.active_run_id;
  return (
    <li className="flex items-start gap-2.5 py-2.5">
      <Glyph shape={shapeOfJob(job)} label={statusOf(job)} className="mt-1.5" />
      <div className="min-w-0 flex-1">
        <Link to={pathTo.job(job.id)} className="block truncate font-semibold hover:underline">
          {job.name}
        </Link>
        <p className="text-small text-mute">{job.words}</p>
        <p className="text-small">
          {active ? (
            <Link to={pathTo.run(active)} className="link">
              {job.state.running_at ? "Running now" : "Waiting for its turn"}
            </Link>
          ) : next ? (
            <Relative at={next} zone={job.schedule.tz ?? "UTC"} />
          ) : (
            <span className="text-mute">{quietReason(job)}</span>
          )}
        </p>
      </div>
      {job.kind !== "system" && job.status !== "done" && (
        <Tooltip text={job.enabled ? "Pause" : "Resume"} side="left">
          <button
            type="button"
            className="icon-button"
            aria-label={`${job.enabled ? "Pause" : "Resume"} ${job.name}`}
            onClick={() => void (job.enabled ? pause(job) : resume(job))}
          >
            <Icon name={job.enabled ? "pause" : "play"} size={16} />
          </button>
        </Tooltip>
      )}
    </li>
  );
}
