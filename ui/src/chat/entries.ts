// The transcript's order: messages, day lines, quiet checks folded into one, and cards of jobs made at other doors.
import type { Transcript } from "../api/cache";
import type { Again, Job, Message } from "../api/types";
import { dateKey } from "../time/format";

export type Entry =
  | { kind: "day"; key: string; at: number }
  | { kind: "message"; key: string; message: Message; follows: boolean; again: Again | null }
  | { kind: "quiet"; key: string; messages: Message[] }
  | { kind: "job"; key: string; job: Job; whole: boolean };

// A script may make a hundred jobs at once; only the last few are drawn as cards.
const WHOLE_STRAYS = 3;

export function entriesOf(loaded: Transcript, jobs: Job[], zone: string): Entry[] {
  const entries: Entry[] = [];
  const messages = loaded.items;
  const strays = strayJobs(loaded, jobs);
  const quietTurns = new Set(messages.filter((message) => message.kind === "status").map((message) => message.turn_id));
  const undone = new Set(messages.map((message) => message.meta.undone_dream_id));
  let day = "";
  let next = 0;

  function dayLine(at: number) {
    const date = dateKey(at, zone);
    if (date === day) return;
    day = date;
    entries.push({ kind: "day", key: `day ${date}`, at });
  }

  function straysUntil(at: number) {
    for (let job = strays[next]; job && Date.parse(job.created_at) < at; job = strays[++next]) {
      dayLine(Date.parse(job.created_at));
      entries.push({ kind: "job", key: job.id, job, whole: next >= strays.length - WHOLE_STRAYS });
    }
  }

  for (const [index, message] of messages.entries()) {
    // A quiet check has no opening: the server folds it away once the check had nothing to tell.
    if (message.kind !== "status" && message.turn_id !== null && quietTurns.has(message.turn_id)) continue;
    // The server folds it away, too.
    if (message.meta.dream_id && undone.has(message.meta.dream_id)) continue;
    const at = Date.parse(message.created_at);
    straysUntil(at);
    const last = entries.at(-1);
    if (message.kind === "status" && last?.kind === "quiet" && sameJob(last.messages[0], message)) {
      last.messages.push(message);
      continue;
    }
    dayLine(at);
    if (message.kind === "status") entries.push({ kind: "quiet", key: `quiet ${message.seq}`, messages: [message] });
    else
      entries.push({
        kind: "message",
        key: String(message.seq),
        message,
        follows: messages[index - 1]?.turn_id === message.turn_id && message.turn_id !== null,
        again: againOf(message, messages),
      });
  }
  straysUntil(Number.POSITIVE_INFINITY);
  return entries;
}

/** What trying again means for an answer that failed or was stopped; not once more was said. */
export function againOf(closing: Message, messages: Message[]): Again | null {
  const { outcome, cron_job_id: jobId, cron_run_id: runId } = closing.meta;
  if (closing.role !== "assistant" || outcome === undefined || closing.turn_id === null) return null;
  if (runId !== undefined && jobId !== undefined)
    return outcome === "failed" && closing.kind === "scheduled" ? { kind: "run", jobId, runId } : null;
  const said = messages.filter((message) => message.role === "user" && message.kind === "chat");
  if (closing.kind !== "chat" || said.at(-1)?.turn_id !== closing.turn_id) return null;
  const own = said.filter((message) => message.turn_id === closing.turn_id && message.meta.source !== "hook");
  const text = own.map((message) => message.text).join("\n\n");
  return text ? { kind: "message", sessionKey: closing.session_key, turnId: closing.turn_id, text } : null;
}

const sameJob = (a: Message | undefined, b: Message) => a?.meta.cron_job_id === b.meta.cron_job_id;

/** Jobs of this conversation that no message announces, as far as the window reaches. */
function strayJobs({ items, older, newer }: Transcript, jobs: Job[]): Job[] {
  const announced = new Set(items.flatMap((message) => message.cards.map((card) => card.job_id)));
  const from = older ? Date.parse(items[0]?.created_at ?? "") || Number.POSITIVE_INFINITY : 0;
  const to = newer ? Date.parse(items.at(-1)?.created_at ?? "") || 0 : Number.POSITIVE_INFINITY;
  const within = (at: number) => at >= from && at < to;
  return jobs
    .filter(
      (job) =>
        job.kind !== "system" &&
        job.origin.door !== "tool" &&
        !job.origin.turn_id &&
        !announced.has(job.id) &&
        within(Date.parse(job.created_at)),
    )
    .sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
}

/** Only the newest card of a job is drawn whole; earlier ones are a line. */
export function newestCards(messages: Message[]): Map<string, number> {
  const newest = new Map<string, number>();
  for (const message of messages) for (const card of message.cards) newest.set(card.job_id, message.seq);
  return newest;
}
