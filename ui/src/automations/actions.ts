// What a person can do to an automation from a list, a card or a page. Each says what happened and offers the way back.
import { useQueryClient } from "@tanstack/react-query";
import { placeJob, placeRun, refetchSoon } from "../api/cache";
import { Refusal } from "../api/client";
import * as ops from "../api/operations";
import type { Job } from "../api/types";
import { toast, toastError } from "../parts/toasts";
import { navigate, pathTo } from "../router";
import { nowMs } from "../time/clock";
import { stampOf } from "../time/format";

export function useJobActions() {
  const client = useQueryClient();

  const undo = (changed: Job) => async () => {
    const { warnings, ...job } = await ops.undoJob(changed.id, changed.revision);
    placeJob(client, job);
    toast({ text: `Undone: ${changed.name}`, warnings });
  };

  /** Do it, put the answer in place, say so, and offer to undo it. */
  async function change(action: Promise<Job>, describe: (job: Job) => string): Promise<Job | null> {
    try {
      const { warnings, ...job } = await action;
      placeJob(client, job);
      toast({ text: describe(job), warnings, undo: undo(job) });
      return job;
    } catch (error) {
      toastError(error);
      return null;
    }
  }

  return {
    pause: (job: Job) => change(ops.disableJob(job.id), () => `Paused: ${job.name}`),
    resume: (job: Job) => change(ops.enableJob(job.id), (now) => `Resumed: ${job.name}${nextOf(now)}`),
    skip: (job: Job) => change(ops.skipJob(job.id), (now) => `Next run skipped: ${job.name}${nextOf(now)}`),
    /** Keep a promise of an answer. */
    keep: (made: Promise<Job>) => change(made, (job) => `Scheduled: ${job.name}${nextOf(job)}`),
    /** Make a reminder in a conversation. */
    remind: (session_key: string, when: string, message: string, name: string) =>
      change(again(session_key, when, message, name), (job) => `Reminder set: ${job.words}`),
    remove: (job: Job) => change(ops.removeJob(job.id), () => `Deleted: ${job.name}`),

    async undoChange(id: string, revision: number, name: string) {
      try {
        const { warnings, ...job } = await ops.undoJob(id, revision);
        placeJob(client, job);
        toast({ text: `Undone: ${name}`, warnings });
        refetchSoon(client, ["job", id]);
      } catch (error) {
        toastError(error);
      }
    },

    async runNow(job: Job) {
      try {
        const run = await ops.runJob(job.id);
        placeRun(client, run);
        toast({
          text: `${run.waiting_for ? "Waiting to run" : "Running"}: ${job.name}`,
          link: { to: pathTo.run(run.id), text: "Show" },
        });
      } catch (error) {
        if (error instanceof Refusal && error.code === "already_running" && error.problem.run_id)
          toast({ text: `Already running: ${job.name}`, link: { to: pathTo.run(error.problem.run_id), text: "Show" } });
        else toastError(error);
      }
    },

    clone: (job: Job) => navigate(`/automations/new?from=${encodeURIComponent(job.id)}`),
  };
}

const NAME = 128;

/** That another automation says the same is what one wants here, and no warning. */
async function again(session_key: string, when: string, message: string, name: string): Promise<Job> {
  const job = await ops.addJob({
    session_key,
    when,
    name: name.slice(0, NAME),
    payload: { kind: "reminder", message },
  });
  return { ...job, warnings: null };
}

function nextOf(job: Job): string {
  const [first] = job.next;
  return first
    ? `. Next: ${stampOf(Date.parse(first), job.schedule.tz ?? "UTC", nowMs())} ${job.schedule.tz ?? "UTC"}`
    : "";
}
