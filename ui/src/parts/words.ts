// State names and reasons as people say them. The server's sentences are shown as they are; these are for single words.
import type { CardChange, Job, JobStatus, Message, Run, RunState, Source, Waiting } from "../api/types";

export const jobStatusWord: Record<JobStatus, string> = {
  active: "Active",
  paused: "Paused",
  attention: "Needs you",
  done: "Done",
};

export function statusOf(job: Job): string {
  if (job.state.active_run_id) return job.state.running_at ? "Running" : "Waiting";
  return jobStatusWord[job.status];
}

/** Why it needs somebody: disabled by us, failed, or else what it said did not arrive. */
export function attentionOf(job: Job): string {
  const reason = job.state.disabled_reason;
  if (reason) return reasonWords[reason] ?? reason;
  return job.state.last_error ?? "One of its messages could not be delivered.";
}

export const runStateWord: Record<RunState, string> = {
  queued: "Waiting",
  running: "Running",
  ok: "OK",
  error: "Failed",
  skipped: "Skipped",
  cancelled: "Cancelled",
};

const reasonWords: Record<string, string> = {
  empty: "empty answer",
  quiet: "no news",
  model: "no answer from the model",
  tool: "a tool did not work",
  timeout: "took too long",
  interrupted: "interrupted",
  session_missing: "its conversation is gone",
  schedule: "its schedule is broken",
  missed: "missed",
  overlap: "the one before was still running",
  busy: "the conversation was busy",
  gate: "its condition did not hold",
  asked: "asked for",
  disabled: "paused",
  rescheduled: "given another time",
  brake: "stopped as a loop",
  loop: "it kept causing turns that no person asked for",
  removed: "removed",
  session_deleted: "conversation deleted",
};

export const reasonWord = (reason: string | null) =>
  reason ? (reasonWords[reason] ?? reason.replaceAll("_", " ")) : null;

export function outcomeOf(run: { state: RunState; reason: string | null }): string {
  const reason = reasonWord(run.reason);
  return reason ? `${runStateWord[run.state]}: ${reason}` : runStateWord[run.state];
}

export const triggerWord: Record<Run["trigger"], string> = {
  timer: "On schedule",
  catch_up: "Caught up",
  manual: "Run now",
  retry: "Tried again",
};

export const doorWord: Record<string, string> = {
  tool: "the agent, in conversation",
  api: "the HTTP API",
  cli: "the command line",
  page: "this page",
  mcp: "an MCP client",
  import: "an import",
};

export const changeWord: Record<CardChange, string> = {
  added: "Scheduled",
  updated: "Changed",
  removed: "Removed",
  enabled: "Resumed",
  disabled: "Paused",
  skipped: "Next run skipped",
};

export const sourceWord: Record<Source, string> = {
  person: "your message",
  run: "an automation",
  report: "a report",
  hook: "a webhook call",
  agent: "another agent",
  system: "the system",
};

const waitingForWords: Record<Waiting["waiting_for"], string> = {
  session: "waits until this conversation is free",
  slot: "waits for a free slot",
  turn: "will be seen by the next turn",
};
export const waitingForWord = (waiting: Waiting["waiting_for"] | null) => waitingForWords[waiting ?? "session"];

export const payloadWord: Record<Job["payload"]["kind"], string> = {
  agent_turn: "The agent works on it",
  reminder: "Reminder, word for word",
  system_event: "Note for the agent",
};

export const titleOf = (session: { title: string | null; key: string } | undefined) =>
  session?.title || (session ? session.key : "");

/** What the agent was asked to do: a scheduled opening names its automation first, then a blank line. */
export function askedOf({ role, kind, text }: Pick<Message, "role" | "kind" | "text">): string {
  if (role !== "user" || kind !== "scheduled") return text;
  const blank = text.indexOf("\n\n");
  return blank > 0 ? text.slice(blank + 2) : "";
}

export const plural = (count: number, one: string, many = `${one}s`) =>
  `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`;
