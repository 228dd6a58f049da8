// Groups failures by cause: those with the same cause are fixed together.
import type { Job } from "../api/types";
import { attentionOf } from "../parts/words";

export type Cause = { text: string; jobs: Job[]; key: boolean };

/** A refused API key is one cause, whatever the providers' wording. */
const KEY = /refused the key|name and key|api key/i;

export function causesOf(jobs: Job[]): Cause[] {
  const found = new Map<string, Cause>();
  for (const job of jobs) {
    const text = attentionOf(job);
    const key = KEY.test(text) || KEY.test(job.state.last_error ?? "");
    const name = key ? "key" : text;
    const cause = found.get(name);
    if (cause) cause.jobs.push(job);
    else found.set(name, { text: key ? (job.state.last_error ?? text) : text, jobs: [job], key });
  }
  return [...found.values()].sort((a, b) => b.jobs.length - a.jobs.length);
}
