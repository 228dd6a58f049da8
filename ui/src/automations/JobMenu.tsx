// What can be done to an automation, in one menu. The machine's own jobs can be looked at only.
import type { Job } from "../api/types";
import { Menu, MenuItem, MenuLine } from "../parts/Menu";
import { navigate, pathTo } from "../router";
import { useJobActions } from "./actions";

export function JobMenu({ job, onRemoved }: { job: Job; onRemoved?: () => void }) {
  const { pause, resume, runNow, skip, clone, remove } = useJobActions();
  if (job.kind === "system") return null;

  async function removeIt() {
    if (await remove(job)) onRemoved?.();
  }

  return (
    <Menu label={`Actions for ${job.name}`}>
      <MenuItem icon="play" disabled={job.state.active_run_id !== null} onSelect={() => void runNow(job)}>
        Run now
      </MenuItem>
      <MenuItem icon="skip" disabled={job.next.length === 0} onSelect={() => void skip(job)}>
        Skip next
      </MenuItem>
      <MenuItem
        icon={job.enabled ? "pause" : "play"}
        disabled={job.status === "done"}
        onSelect={() => void (job.enabled ? pause(job) : resume(job))}
      >
        {job.enabled ? "Pause" : "Resume"}
      </MenuItem>
      <MenuLine />
      <MenuItem icon="pencil" onSelect={() => navigate(pathTo.editJob(job.id))}>
        Edit
      </MenuItem>
      <MenuItem icon="copy" onSelect={() => clone(job)}>
        Clone
      </MenuItem>
      <MenuLine />
      <MenuItem icon="trash" bad onSelect={() => void removeIt()}>
        Delete
      </MenuItem>
    </Menu>
  );
}
