// What can be done to the automations that are selected.
import { useState } from "react";
import type { Job } from "../api/types";
import { ConfirmButton } from "../parts/ConfirmButton";
import { plural } from "../parts/words";
import { useBulk } from "./bulk";

type BulkBarProps = { jobs: Job[]; all: Job[]; select: (ids: string[]) => void };

export function BulkBar({ jobs, all, select }: BulkBarProps) {
  const { pause, resume, remove } = useBulk();
  const [busy, setBusy] = useState(false);
  if (jobs.length === 0) return null;

  async function act(work: (jobs: Job[]) => Promise<unknown>) {
    setBusy(true);
    await work(jobs);
    setBusy(false);
    select([]);
  }

  const things = plural(jobs.length, "automation");
  return (
    <div
      role="toolbar"
      aria-label="Selected automations"
      aria-busy={busy}
      className="sticky top-0 z-10 flex flex-wrap items-center gap-x-3 gap-y-1 border-b bg-paper py-1.5 text-small"
    >
      <span aria-live="polite">{jobs.length} selected</span>
      <button
        type="button"
        className="button"
        disabled={busy || !jobs.some((job) => job.enabled)}
        onClick={() => void act(pause)}
      >
        Pause
      </button>
      <button
        type="button"
        className="button"
        disabled={busy || !jobs.some((job) => !job.enabled && job.status !== "done")}
        onClick={() => void act(resume)}
      >
        Resume
      </button>
      {!busy && (
        <ConfirmButton
          label={`Delete ${things}`}
          text="Delete"
          question={`Really delete ${things}?`}
          onConfirm={() => void act(remove)}
        />
      )}
      <span className="ml-auto flex gap-3">
        {jobs.length < all.length && (
          <button type="button" className="link" onClick={() => select(all.map((job) => job.id))}>
            Select all {all.length}
          </button>
        )}
        <button type="button" className="link" onClick={() => select([])}>
          Clear
        </button>
      </span>
    </div>
  );
}
