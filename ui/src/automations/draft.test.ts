import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schedule } from "../api/types";
import { cronOfDays, emptyWhen, scheduleOf, showIn } from "./draft";

const empty = emptyWhen("Europe/Berlin", Date.parse("2026-11-16T07:20:00Z"));
const shown = (schedule: object) => showIn(empty, schedule as Schedule);

test("a new form offers the next full hour in its zone", () => {
  assert.equal(empty.date, "2026-11-16");
  assert.equal(empty.clock, "09:00");
});

test("each schedule comes back from the tabs as it went in", () => {
  const tz = "Europe/Berlin";
  for (const schedule of [
    { kind: "every", every_ms: 5_400_000, anchor: "2026-11-16T08:00:00+01:00", tz },
    { kind: "every", every_ms: 90_000, tz },
    { kind: "every", every_ms: 7_200_000, anchor: "2026-11-16T08:00:00+01:00", tz },
    { kind: "every", every_ms: 7_200_000, anchor: "2026-11-16T08:20:15+01:00", tz },
    { kind: "cron", cron: "0 8 * * 1-5", tz },
    { kind: "cron", cron: "30 22 * * *", tz },
    { kind: "cron", cron: "5 7 * * 2,4", tz },
    { kind: "cron", cron: "*/10 9-17 * * 1-5", tz },
  ])
    assert.deepEqual(scheduleOf(shown(schedule)), schedule);
});

test("every two hours is on the full hour of its zone, unless one wants it from now on", () => {
  const every = { ...empty, tab: "every" as const };
  assert.deepEqual(scheduleOf(every), {
    kind: "every",
    every_ms: 7_200_000,
    anchor: "2026-11-16T07:00:00.000Z",
    tz: "Europe/Berlin",
  });
  const inIndia = { ...every, zone: "Asia/Kolkata" };
  assert.equal((scheduleOf(inIndia) as { anchor?: string }).anchor, "2026-11-16T06:30:00.000Z");
  for (const fromNow of [{ onHour: null }, { amount: 90, unit: "minutes" as const }])
    assert.equal("anchor" in scheduleOf({ ...every, ...fromNow }), false);
});

test("an instant is shown as the wall time of its zone", () => {
  const when = shown({ kind: "at", at: "2026-11-17T23:30:00Z", tz: "Asia/Tokyo" });
  assert.deepEqual([when.tab, when.date, when.clock, when.zone], ["at", "2026-11-18", "08:30", "Asia/Tokyo"]);
  assert.deepEqual(scheduleOf(when), { kind: "at", at: "2026-11-18T08:30", tz: "Asia/Tokyo" });
});

test("an interval is shown in the largest unit that divides it", () => {
  const amount = (ms: number) => {
    const when = shown({ kind: "every", every_ms: ms, tz: "UTC" });
    return `${when.amount} ${when.unit}`;
  };
  assert.equal(amount(172_800_000), "2 days");
  assert.equal(amount(7_200_000), "2 hours");
  assert.equal(amount(5_400_000), "90 minutes");
  assert.equal(amount(61_000), "61 seconds");
});

test("days and a time are shown as days, everything else as cron", () => {
  assert.deepEqual(shown({ kind: "cron", cron: "0 8 * * 0,6", tz: "UTC" }).days, [6, 7]);
  assert.deepEqual(shown({ kind: "cron", cron: "0 8 * * 5-7", tz: "UTC" }).days, [5, 6, 7]);
  assert.equal(shown({ kind: "cron", cron: "0 8 1 * *", tz: "UTC" }).tab, "cron");
  assert.equal(shown({ kind: "cron", cron: "0 8,20 * * *", tz: "UTC" }).tab, "cron");
});

test("days become the shortest cron expression", () => {
  assert.equal(cronOfDays([5, 4, 3, 2, 1], "08:00"), "0 8 * * 1-5");
  assert.equal(cronOfDays([1, 2, 3, 4, 5, 6, 7], "18:05"), "5 18 * * *");
  assert.equal(cronOfDays([7, 1], "00:00"), "0 0 * * 1,7");
});
