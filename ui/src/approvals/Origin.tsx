// Where a request came from, in words, with the way there.
import { useJob, useMe } from "../api/queries";
import type { Approval, Source } from "../api/types";
import { SessionName } from "../parts/SessionName";
import { Link, pathTo } from "../router";

const after: Record<Exclude<Source, "run">, string> = {
  person: "in a conversation with you",
  report: "after a report",
  hook: "after a hook called",
  agent: "after another agent wrote",
  system: "after an earlier request ended",
};

export function Origin({ approval, away = true }: { approval: Approval; away?: boolean }) {
  const me = useMe().data;
  // Another person's conversation is theirs: an administrator sees what is asked, not where it leads.
  const mine = me?.user_id === approval.user_id;
  if (approval.turn_id === null) return `by ${mine ? "you" : approval.user_id}, as a change of the agent`;
  return (
    <>
      {approval.asked_by === "run" ? (
        <ScheduledRun jobId={approval.job_id} mine={mine} />
      ) : approval.asked_by === "person" && !mine ? (
        `in a conversation with ${approval.user_id}`
      ) : (
        after[approval.asked_by]
      )}
      {away && mine && (
        <>
          {", "}
          <Link to={pathTo.chat(approval.session_key)} className="link">
            <SessionName of={approval.session_key} />
          </Link>
        </>
      )}
      {mine && (
        <>
          {", in "}
          <Link to={pathTo.turn(approval.turn_id)} className="link">
            this turn
          </Link>
        </>
      )}
      {!mine && approval.asked_by !== "person" && `, for ${approval.user_id}`}
    </>
  );
}

function ScheduledRun({ jobId, mine }: { jobId: string | null; mine: boolean }) {
  return jobId && mine ? <RunOf jobId={jobId} /> : "in a scheduled run";
}

function RunOf({ jobId }: { jobId: string }) {
  const job = useJob(jobId).data;
  return (
    <>
      in a scheduled run of{" "}
      <Link to={pathTo.job(jobId)} className="link">
        {job?.name ?? jobId}
      </Link>
    </>
  );
}
