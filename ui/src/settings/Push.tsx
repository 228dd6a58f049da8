// Which browsers are notified while the page is closed, and when nobody wants to be.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { keys, placeDelivery } from "../api/cache";
import { sentenceOf } from "../api/client";
import { addSession, listPush, removePush, testAddress, updateMe } from "../api/operations";
import { useMe, useMyZone } from "../api/queries";
import type { PushDevice } from "../api/types";
import { ClockField } from "../parts/ClockField";
import { ConfirmButton } from "../parts/ConfirmButton";
import { Loading } from "../parts/EmptyState";
import { toast, toastError } from "../parts/toasts";
import { pushId, turnPushOff, turnPushOn, whyNoPush } from "../push";
import { Relative } from "../time/Time";

export function Push() {
  const client = useQueryClient();
  const list = useQuery({ queryKey: ["push"], queryFn: listPush });
  const devices = list.data?.items ?? [];
  const here = devices.find((device) => device.id === pushId());
  const [busy, setBusy] = useState(false);
  const why = whyNoPush();

  async function turn(on: boolean) {
    setBusy(true);
    try {
      await (on ? turnPushOn() : turnPushOff());
      toast({ text: on ? "Notifications are on in this browser" : "Notifications are off in this browser" });
    } catch (error) {
      toastError(error);
    }
    await client.invalidateQueries({ queryKey: ["push"] });
    setBusy(false);
  }

  return (
    <div className="mt-4">
      <p className="mb-1 font-semibold">While the page is closed</p>
      <p className="text-small text-mute">
        Reminders, scheduled answers, notes, questions, approvals and alerts are shown by these browsers, unless you
        have read them first.
      </p>
      {list.isPending && <Loading rows={1} />}
      {list.isError && <p className="text-bad">{sentenceOf(list.error)}</p>}
      <ul className="mt-2 border-t empty:hidden">
        {devices.map((device) => (
          <Row key={device.id} device={device} here={device === here} />
        ))}
      </ul>
      {why && !here && (
        <p role="note" className="mt-2 text-small text-wait">
          {why}
        </p>
      )}
      {list.isSuccess && (here || !why) && (
        <button type="button" className="button mt-3" disabled={busy} onClick={() => void turn(!here)}>
          {here ? "Turn off in this browser" : "Turn on in this browser"}
        </button>
      )}
      <QuietHours />
    </div>
  );
}

function Row({ device, here }: { device: PushDevice; here: boolean }) {
  const client = useQueryClient();
  const zone = useMyZone();
  const me = useMe().data;

  async function test() {
    try {
      const key = me?.home ?? (await addSession({})).key;
      placeDelivery(client, await testAddress(key, `push:${device.id}`));
      toast({ text: `Test sent to ${device.name}`, link: { to: "/deliveries", text: "Show" } });
    } catch (error) {
      toastError(error);
    }
  }

  async function remove() {
    try {
      await (here ? turnPushOff() : removePush(device.id));
      toast({ text: `Removed ${device.name}` });
    } catch (error) {
      toastError(error);
    }
    await client.invalidateQueries({ queryKey: ["push"] });
  }

  return (
    <li className="flex flex-wrap items-baseline gap-x-3 border-b py-1.5">
      <span className="font-semibold [overflow-wrap:anywhere]">{device.name}</span>
      {here && <span className="text-small text-mute">this browser</span>}
      <span className="text-small text-mute">
        added <Relative at={device.created_at} zone={zone} />
        {device.last_at ? (
          <>
            , last notified <Relative at={device.last_at} zone={zone} />
          </>
        ) : (
          ", not notified yet"
        )}
      </span>
      <span className="ml-auto flex gap-3">
        <button
          type="button"
          className="link text-small"
          aria-label={`Send test to ${device.name}`}
          onClick={() => void test()}
        >
          Send test
        </button>
        <ConfirmButton
          label={`Remove ${device.name}`}
          text="Remove"
          question="Remove?"
          onConfirm={() => void remove()}
        />
      </span>
    </li>
  );
}

function QuietHours() {
  const client = useQueryClient();
  const me = useMe().data;
  const [draft, setDraft] = useState<[string, string] | null>(null);
  if (!me) return null;
  const kept = me.quiet_hours;
  const [begin = "22:00", end = "07:00"] = draft ?? kept?.split("-") ?? [];
  const ready = begin !== "" && end !== "" && begin !== end && `${begin}-${end}` !== kept;

  async function save(quiet_hours: string | null) {
    try {
      client.setQueryData(keys.me, await updateMe({ quiet_hours }));
      setDraft(null);
      toast({ text: quiet_hours ? `Quiet from ${quiet_hours.replace("-", " to ")}` : "No quiet hours" });
    } catch (error) {
      toastError(error);
    }
  }

  return (
    <form
      aria-label="Quiet hours"
      className="mt-4"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void save(`${begin}-${end}`);
      }}
    >
      <p className="mb-1 font-semibold">Quiet hours</p>
      <p className="mb-2 text-small text-mute">
        {kept ? `From ${kept.replace("-", " to ")} no` : "In these hours no"} browser is notified. What arrives then
        waits in your inbox and is not shown later.
      </p>
      <div className="flex flex-wrap items-end gap-2">
        <ClockField label="Quiet from" value={begin} onChange={(clock) => setDraft([clock, end])} />
        <ClockField label="Quiet until" value={end} onChange={(clock) => setDraft([begin, clock])} />
        <button type="submit" className="button" disabled={!ready}>
          Save quiet hours
        </button>
        {kept && (
          <button type="button" className="button" data-look="plain" onClick={() => void save(null)}>
            Remove quiet hours
          </button>
        )}
      </div>
    </form>
  );
}
