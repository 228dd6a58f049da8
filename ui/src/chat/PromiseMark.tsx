// An answer promised to come back, and nothing was scheduled: it says so, and one click schedules it.
import { useState } from "react";
import { addJob } from "../api/operations";
import type { Message, Promised } from "../api/types";
import { useJobActions } from "../automations/actions";
import { emptyWhen } from "../automations/draft";
import { usePreview } from "../automations/usePreview";
import { Icon } from "../parts/Icon";
import { Sheet } from "../parts/Sheet";
import { Link, pathTo } from "../router";
import { nowMs } from "../time/clock";
import { Stamp } from "../time/Time";

type MarkProps = { message: Message; promise: Promised; zone: string };

export function PromiseMark({ message, promise, zone }: MarkProps) {
  const [open, setOpen] = useState(false);
  if (promise.job_id)
    return (
      <p className="mt-1.5 flex flex-wrap items-center gap-x-2 text-small text-mute">
        <Icon name="check" size={15} />
        <span>Scheduled since.</span>
        <Link to={pathTo.job(promise.job_id)} className="link">
          Show
        </Link>
      </p>
    );
  return (
    <div className="mt-1.5 flex flex-wrap items-center gap-x-2 gap-y-1 text-small text-wait" role="note">
      <Icon name="note" size={15} />
      <span>Nothing was scheduled for this.</span>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        <Icon name="clock" size={14} /> Schedule it
      </button>
      {open && <ScheduleSheet message={message} promise={promise} zone={zone} onClose={() => setOpen(false)} />}
    </div>
  );
}

function ScheduleSheet({ message, promise, zone, onClose }: MarkProps & { onClose: () => void }) {
  const actions = useJobActions();
  const [when, setWhen] = useState(promise.when ?? "");
  const [what, setWhat] = useState(promise.message);
  const [busy, setBusy] = useState(false);
  const previewed = usePreview({ ...emptyWhen(zone, nowMs()), source: "text", text: when });
  const { preview } = previewed;
  const wrong = previewed.scheduleError ?? previewed.zoneError ?? previewed.otherError;
  const kind = promise.reminder ? "reminder" : "agent_turn";

  async function save() {
    setBusy(true);
    // The key ties it to the message: however often it is pressed, in however many windows, it is made once.
    const made = addJob({
      session_key: message.session_key,
      when: when.trim(),
      timezone: zone,
      payload: { kind, message: what.trim() },
      dedupe_key: `promise:${message.seq}`,
    });
    const job = await actions.keep(made);
    setBusy(false);
    if (job) onClose();
  }

  return (
    <Sheet title="Schedule it" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <blockquote className="border-l-2 border-edge pl-3 text-mute [overflow-wrap:anywhere]">
          {promise.text}
        </blockquote>
        <label className="mt-3 flex flex-col gap-1">
          <span className="text-small font-semibold">When</span>
          <input
            data-first
            className="field"
            placeholder="“tomorrow at 9:30”, “every 2 hours”"
            value={when}
            autoComplete="off"
            aria-invalid={wrong !== null}
            aria-describedby="promise-when"
            onChange={(event) => setWhen(event.target.value)}
          />
        </label>
        <p id="promise-when" aria-live="polite" className="mt-1 min-h-[1.4rem] text-small">
          {wrong ? (
            <span className="text-bad">{wrong}</span>
          ) : preview ? (
            <>
              <span className="font-semibold">{preview.words}</span>
              {preview.next[0] && preview.next.length > 1 && (
                <span className="text-mute">
                  {". First: "}
                  <Stamp at={preview.next[0]} zone={preview.timezone} />
                </span>
              )}
            </>
          ) : (
            <span className="text-mute">{previewed.busy ? "Reading" : "Say when."}</span>
          )}
        </p>
        <label className="mt-2 flex flex-col gap-1">
          <span className="text-small font-semibold">
            {promise.reminder ? "What to remind you of" : "What the agent should do"}
          </span>
          <textarea
            className="field"
            rows={2}
            value={what}
            maxLength={16_384}
            onChange={(event) => setWhat(event.target.value)}
          />
        </label>
        <div className="mt-4 flex justify-end gap-2">
          <button type="button" className="button" data-look="plain" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button" data-look="main" disabled={busy || !preview || what.trim() === ""}>
            Schedule
          </button>
        </div>
      </form>
    </Sheet>
  );
}
