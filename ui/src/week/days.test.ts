import assert from "node:assert/strict";
import { test } from "node:test";
import { daysFrom, fold, type Item, mondayOf } from "./days";

test("a week begins on the Monday of the zone", () => {
  assert.equal(mondayOf(Date.parse("2026-11-15T23:30:00Z"), "UTC"), "2026-11-09");
  assert.equal(mondayOf(Date.parse("2026-11-15T23:30:00Z"), "Europe/Berlin"), "2026-11-16");
});

test("days have their true lengths when the clocks change", () => {
  const hours = (monday: string, zone: string) => daysFrom(monday, zone).map((day) => (day.to - day.from) / 3_600_000);
  assert.deepEqual(hours("2026-03-23", "Europe/Berlin"), [24, 24, 24, 24, 24, 24, 23]);
  assert.deepEqual(hours("2026-10-19", "Europe/Berlin"), [24, 24, 24, 24, 24, 24, 25]);
  assert.deepEqual(hours("2026-09-28", "Australia/Lord_Howe"), [24, 24, 24, 24, 24, 24, 23.5]);
});

test("the change of a clock is found to the minute", () => {
  const sunday = daysFrom("2026-03-23", "Europe/Berlin")[6];
  assert.deepEqual(sunday?.shift, { ms: 3_600_000, at: Date.parse("2026-03-29T01:00:00Z") });
  assert.equal(daysFrom("2026-03-16", "Europe/Berlin")[6]?.shift, null);
});

test("equal items are one line with a count, in the order of time", () => {
  const item = (name: string, at: number, says = "OK") => ({ name, at, says, shape: "ok", count: 1 }) as Item;
  const folded = fold([item("b", 3), item("a", 1), item("a", 2), item("a", 4, "Failed")]);
  assert.deepEqual(
    folded.map(({ name, count }) => `${name} ${count}`),
    ["a 2", "b 1", "a 1"],
  );
});
