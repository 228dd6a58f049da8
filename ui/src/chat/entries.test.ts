import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, Message } from "../api/types";
import { againOf, type Entry, entriesOf, newestCards } from "./entries";

let seq = 0;

function message(createdAt: string, more: Partial<Message> = {}): Message {
  seq += 1;
  const plain = { seq, role: "user", kind: "chat", text: "", turn_id: null, meta: {}, cards: [], deliveries: [] };
  return { ...plain, created_at: createdAt, ...more } as unknown as Message;
}

function job(id: string, createdAt: string, door = "api"): Job {
  return { id, kind: "cron", created_at: createdAt, origin: { door, turn_id: null } } as unknown as Job;
}

const quiet = (createdAt: string, jobId: string, turnId: string) =>
  message(createdAt, { kind: "status", turn_id: turnId, meta: { cron_job_id: jobId } });

const whole = (items: Message[]) => ({ items, older: false, newer: false });
const kinds = (entries: Entry[]) => entries.map((entry) => entry.kind).join(" ");

test("a day line stands before the first message of each day of the zone", () => {
  const items = ["2026-11-16T10:00:00Z", "2026-11-16T22:00:00Z", "2026-11-16T23:30:00Z"].map((at) => message(at));
  assert.equal(kinds(entriesOf(whole(items), [], "UTC")), "day message message message");
  assert.equal(kinds(entriesOf(whole(items), [], "Europe/Berlin")), "day message message day message");
});

test("a message follows the one before it when both are of one turn", () => {
  const turn = { turn_id: "turn_1" };
  const items = [
    message("2026-11-16T10:00:00Z", turn),
    message("2026-11-16T10:00:01Z", turn),
    message("2026-11-16T10:01:00Z"),
  ];
  const follows = entriesOf(whole(items), [], "UTC").flatMap((entry) =>
    entry.kind === "message" ? [entry.follows] : [],
  );
  assert.deepEqual(follows, [false, true, false]);
});

test("quiet checks of one job in a row are one entry, and their openings are left out", () => {
  const items = [
    message("2026-11-16T10:00:00Z", { turn_id: "turn_1", kind: "scheduled" }),
    quiet("2026-11-16T10:00:01Z", "job_a", "turn_1"),
    quiet("2026-11-16T11:00:01Z", "job_a", "turn_2"),
    quiet("2026-11-16T12:00:01Z", "job_b", "turn_3"),
  ];
  const entries = entriesOf(whole(items), [], "UTC");
  assert.equal(kinds(entries), "day quiet quiet");
  assert.equal(entries[1]?.kind === "quiet" && entries[1].messages.length, 2);
});

test("a job that no message announces stands where it was made", () => {
  const announced = message("2026-11-16T12:00:00Z", { cards: [{ job_id: "job_c" }] as Message["cards"] });
  const items = [message("2026-11-16T10:00:00Z"), announced];
  const jobs = [
    job("job_late", "2026-11-17T09:00:00Z"),
    job("job_a", "2026-11-16T11:00:00Z"),
    job("job_b", "2026-11-16T11:30:00Z", "tool"),
    job("job_c", "2026-11-16T11:45:00Z"),
  ];
  const entries = entriesOf(whole(items), jobs, "UTC");
  assert.equal(kinds(entries), "day message job message day job");
  assert.equal(entries[2]?.key, "job_a");
});

test("a window in the middle shows only jobs made within it", () => {
  const items = [message("2026-11-16T10:00:00Z"), message("2026-11-16T12:00:00Z")];
  const jobs = ["09", "11", "13"].map((hour) => job(`job_${hour}`, `2026-11-16T${hour}:00:00Z`));
  const entries = entriesOf({ items, older: true, newer: true }, jobs, "UTC");
  assert.deepEqual(
    entries.flatMap((entry) => (entry.kind === "job" ? [entry.key] : [])),
    ["job_11"],
  );
});

test("of many unannounced jobs only the last three are drawn whole", () => {
  const jobs = [1, 2, 3, 4, 5].map((minute) => job(`job_${minute}`, `2026-11-16T10:0${minute}:00Z`));
  const drawn = entriesOf(whole([]), jobs, "UTC").flatMap((entry) => (entry.kind === "job" ? [entry.whole] : []));
  assert.deepEqual(drawn, [false, false, true, true, true]);
});

test("the newest card of a job is the one drawn whole", () => {
  const first = message("2026-11-16T10:00:00Z", { cards: [{ job_id: "job_a" }] as Message["cards"] });
  const second = message("2026-11-16T11:00:00Z", { cards: [{ job_id: "job_a" }] as Message["cards"] });
  assert.equal(newestCards([first, second]).get("job_a"), second.seq);
});

test("what failed or was stopped can be tried again, until more was said", () => {
  const at = "2026-11-16T10:00:00Z";
  const closing = (meta: Message["meta"], more: Partial<Message> = {}) =>
    message(at, { role: "assistant", turn_id: "t1", session_key: "web:a", meta, ...more });
  const opening = message(at, { turn_id: "t1", text: "how much" });
  const injected = message(at, { turn_id: "t1", text: "in euros" });
  const failed = closing({ outcome: "failed" });
  assert.deepEqual(againOf(failed, [opening, injected, failed]), {
    kind: "message",
    sessionKey: "web:a",
    turnId: "t1",
    text: "how much\n\nin euros",
  });
  const later = message(at, { turn_id: "t2", text: "never mind" });
  assert.equal(againOf(failed, [opening, failed, later]), null);
  assert.equal(againOf(closing({}), [opening]), null);
  const run = { outcome: "failed", cron_job_id: "job_1", cron_run_id: "job_1:1" } as const;
  assert.deepEqual(againOf(closing(run, { kind: "scheduled" }), []), { kind: "run", jobId: "job_1", runId: "job_1:1" });
});
