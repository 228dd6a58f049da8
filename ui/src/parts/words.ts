// Words that only this page needs. States, reasons and triggers come with the server's answers.
import type { CardChange, Job, Message, Source, Waiting } from "../api/types";

/** The server's words start with a small letter, to stand inside a sentence. */
export const capital = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

export function statusOf(job: Job): string {
  if (job.state.active_run_id) return job.state.running_at ? "Running" : "Waiting";
  return capital(job.status_words);
}

/** Why it needs somebody: disabled by us, failed, or else what it said did not arrive. */
export function attentionOf(job: Job): string {
  return job.state.disabled_words ?? job.state.last_error ?? "One of its messages could not be delivered.";
}

export function outcomeOf(run: { state_words: string; reason_words: string | null }): string {
  return capital(run.reason_words ? `${run.state_words}: ${run.reason_words}` : run.state_words);
}

export function sizeOf(bytes: number | null): string {
  if (bytes === null) return "unknown";
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`;
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}

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
  gate: "waits for its script",
  worker: "waits for a machine that can do it",
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

/**
 * What a conversation is called as far as that is known: from the title that came with what names it, and from one's own
 * list. Without a title it may be another user's, and one's own of that key says nothing about it.
 */
export const nameOf = (key: string, given: string | null | undefined, listed: string | undefined) =>
  given === null ? key : listed || (given === undefined ? undefined : given || key);

/** What the agent was asked to do: a scheduled opening names its automation first, then a blank line. */
export function askedOf({ role, kind, text }: Pick<Message, "role" | "kind" | "text">): string {
  if (role !== "user" || kind !== "scheduled") return text;
  const blank = text.indexOf("\n\n");
  return blank > 0 ? text.slice(blank + 2) : "";
}

const OFFLINE = /^Offline mode \(not an AI\): /;

/** The first words of a message without the signs of Markdown, in one line. */
export const plainOf = (text: string, most = 160) =>
  text
    .slice(0, most)
    .replace(OFFLINE, "")
    .replace(/(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])|[*`#>]+/gu, "")
    .replace(/\s+/g, " ");

export const plural = (count: number, one: string, many = `${one}s`) =>
  `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`;
