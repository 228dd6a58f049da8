// One action on many automations: a few at a time, one message at the end, and one undo.
import { useQueryClient } from "@tanstack/react-query";
import { keys, placeJob, refetchSoon } from "../api/cache";
import { sentenceOf } from "../api/client";
import * as ops from "../api/operations";
import type { Job } from "../api/types";
import { toast } from "../parts/toasts";
import { plural } from "../parts/words";

const AT_ONCE = 4;

/** Do it for each, and go on where one is refused. */
async function each<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<{ done: R[]; refused: string[] }> {
  const left = [...items];
  const done: R[] = [];
  const refused: string[] = [];
  async function worker() {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        done.push(await work(item));
      } catch (error) {
        refused.push(sentenceOf(error));
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { done, refused };
}

export function useBulk() {
  const client = useQueryClient();

  async function change(jobs: Job[], verb: string, work: (job: Job) => Promise<Job>) {
    const { done, refused } = await each(jobs, work);
    for (const { warnings: _, ...job } of done) placeJob(client, job);
    refetchSoon(client, keys.jobs);
    if (done.length > 0)
      toast({
        text: `${verb}: ${plural(done.length, "automation")}`,
        warnings: [...new Set(refused)],
        undo: () => takeBack(done),
      });
    else toast({ text: refused[0] ?? "Nothing was changed.", bad: true });
  }

  async function takeBack(jobs: Job[]) {
    const { done, refused } = await each(jobs, (job) => ops.undoJob(job.id, job.revision));
    for (const { warnings: _, ...job } of done) placeJob(client, job);
    refetchSoon(client, keys.jobs);
    toast({ text: `Undone: ${plural(done.length, "automation")}`, warnings: [...new Set(refused)] });
  }

  return {
    pause: (jobs: Job[]) =>
      change(
        jobs.filter((job) => job.enabled),
        "Paused",
        (job) => ops.disableJob(job.id),
      ),
    resume: (jobs: Job[]) =>
      change(
        jobs.filter((job) => !job.enabled && job.status !== "done"),
        "Resumed",
        (job) => ops.enableJob(job.id),
      ),
    remove: (jobs: Job[]) => change(jobs, "Deleted", (job) => ops.removeJob(job.id)),
    /** Run each again; one that was switched off because it failed is switched on first. */
    async retry(jobs: Job[]) {
      const { done, refused } = await each(jobs, async (job) => {
        if (!job.enabled) await ops.enableJob(job.id);
        return ops.runJob(job.id);
      });
      refetchSoon(client, keys.jobs);
      toast({
        text: `Running again: ${plural(done.length, "automation")}`,
        warnings: [...new Set(refused)],
        bad: done.length === 0,
      });
    },
  };
}
