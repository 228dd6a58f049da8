import assert from "node:assert/strict";
import { test } from "node:test";
import { dateGroup, headings, shortTime } from "./dateGroups";

const now = Date.parse("2026-11-18T00:30:00Z");
const at = (text: string) => Date.parse(text);

test("a conversation stands under its day in the reader's zone", () => {
  assert.equal(dateGroup(at("2026-11-17T23:59:00Z"), now, "UTC").name, "Yesterday");
  assert.equal(dateGroup(at("2026-11-17T23:59:00Z"), now, "Europe/Berlin").name, "Today");
  assert.equal(dateGroup(at("2026-11-12T10:00:00Z"), now, "UTC").name, "Previous 7 days");
  assert.equal(dateGroup(at("2026-10-25T10:00:00Z"), now, "UTC").name, "Previous 30 days");
  assert.equal(dateGroup(at("2025-09-05T10:00:00Z"), now, "UTC").name, "September 2025");
});

test("what comes from a clock ahead of this one is of today", () => {
  assert.equal(dateGroup(at("2026-11-19T10:00:00Z"), now, "UTC").name, "Today");
});

test("each group has one heading, also where the order is not that of the days", () => {
  const days = ["2026-11-18T00:01:00Z", "2026-11-01T00:00:00Z", "2026-11-17T09:00:00Z", "2026-08-01T00:00:00Z"];
  assert.deepEqual(headings(days.map(at), now, "UTC"), ["Today", "Previous 30 days", null, "August 2026"]);
});

test("the time beside it is short", () => {
  assert.equal(shortTime(at("2026-11-17T23:59:00Z"), now, "UTC"), "23:59");
  assert.equal(shortTime(at("2026-11-05T23:59:00Z"), now, "UTC"), "5 Nov");
});
