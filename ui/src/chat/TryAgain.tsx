// A way on from an answer that failed or was stopped. However often it is pressed, it is done once.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { placeRun } from "../api/cache";
import { runJob } from "../api/operations";
import type { Again } from "../api/types";
import { Icon } from "../parts/Icon";
import { toast, toastError } from "../parts/toasts";
import { pathTo } from "../router";
import { post } from "./outbox";

export function TryAgain({ again }: { again: Again }) {
  const client = useQueryClient();
  const [asked, setAsked] = useState(false);

  async function go() {
    setAsked(true);
    if (again.kind === "message") {
      if (!(await post(again.sessionKey, again.text, "queue", { id: `again-${again.turnId}` }))) setAsked(false);
      return;
    }
    try {
      const run = await runJob(again.jobId, `again-${again.runId}`);
      placeRun(client, run);
      toast({ text: `Runs again: ${run.job_name}`, link: { to: pathTo.run(run.id), text: "Show" } });
    } catch (error) {
      toastError(error);
      setAsked(false);
    }
  }

  return (
    <button type="button" className="button mt-2" disabled={asked} onClick={() => void go()}>
      <Icon name="undo" size={14} /> Try again
    </button>
  );
}
