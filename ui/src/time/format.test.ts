import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "./format";

const { addDays, dateKey, instantOf, knownZone, lengthOf, offsetMs, partsOf, relativeOf, shortZone, spanOf, stampOf } =
  format;

const at = (instant: string) => Date.parse(instant);
const berlin = "Europe/Berlin";

test("a wall time is shown in the zone it is asked for", () => {
  assert.equal(stampOf(at("2026-11-16T07:00:00Z"), berlin, at("2026-11-20T00:00:00Z")), "Mon 16 Nov 08:00");
  assert.equal(dateKey(at("2026-11-16T23:30:00Z"), berlin), "2026-11-17");
  assert.equal(partsOf(at("2026-11-16T23:00:00Z"), berlin).hour, 0);
});

test("a stamp names the year only when it is not this year", () => {
  const now = at("2026-11-20T00:00:00Z");
  assert.equal(stampOf(at("2027-01-04T07:00:05Z"), berlin, now, true), "Mon 4 Jan 2027 08:00:05");
  assert.equal(stampOf(at("2026-12-31T23:30:00Z"), berlin, now), "Fri 1 Jan 2027 00:30");
});

test("a full minute hides its seconds, also with milliseconds", () => {
  const now = at("2026-11-20T00:00:00Z");
  assert.equal(stampOf(at("2026-11-18T08:14:00.417Z"), berlin, now, "if any"), "Wed 18 Nov 09:14");
  assert.equal(stampOf(at("2026-11-18T08:14:01Z"), berlin, now, "if any"), "Wed 18 Nov 09:14:01");
});

test("September has three letters, as the server writes it", () => {
  assert.equal(format.dayOf(at("2026-09-01T12:00:00Z"), "UTC"), "Tue 1 Sep");
});

test("an unknown zone is shown as UTC", () => {
  assert.equal(knownZone("Mars/Base"), false);
  assert.equal(format.clockOf(at("2026-11-16T07:00:00Z"), "Mars/Base"), "07:00");
});

test("a wall time in a gap becomes the instant after it", () => {
  assert.equal(new Date(instantOf("2026-03-29", "02:30", berlin)).toISOString(), "2026-03-29T01:30:00.000Z");
});

test("a wall time that comes twice becomes the first of the two", () => {
  assert.equal(new Date(instantOf("2026-10-25", "02:30", berlin)).toISOString(), "2026-10-25T00:30:00.000Z");
});

test("a wall time becomes its instant in zones with odd offsets", () => {
  for (const zone of ["Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Kiritimati", "UTC"]) {
    const instant = instantOf("2026-07-01", "09:15", zone);
    const wall = partsOf(instant, zone);
    assert.deepEqual([wall.year, wall.month, wall.day, wall.hour, wall.minute], [2026, 7, 1, 9, 15], zone);
  }
  assert.equal(offsetMs(at("2026-07-01T00:00:00Z"), "Asia/Kathmandu"), 5.75 * 3_600_000);
});

test("days are added on the calendar", () => {
  assert.equal(addDays("2026-02-27", 2), "2026-03-01");
  assert.equal(addDays("2026-01-01", -1), "2025-12-31");
});

test("a span shows its two largest units", () => {
  assert.equal(spanOf(-5), "0 s");
  assert.equal(spanOf(59_400), "59 s");
  assert.equal(spanOf(65_000), "1 min 05 s");
  assert.equal(spanOf(3 * 3_600_000 + 5 * 60_000), "3 h 05 min");
  assert.equal(spanOf(26 * 3_600_000), "1 d 2 h");
  assert.equal(spanOf(20 * 86_400_000 + 3_600_000), "20 d");
});

test("a length leaves out empty units", () => {
  assert.equal(lengthOf(300_000), "5 min");
  assert.equal(lengthOf(5_400_000), "1 h 30 min");
  assert.equal(lengthOf(86_400_000), "1 day");
  assert.equal(lengthOf(2 * 86_400_000), "2 days");
  assert.equal(lengthOf(0), "0 s");
});

test("a distance says its direction", () => {
  assert.equal(relativeOf(1_500, 1_000), "now");
  assert.equal(relativeOf(66_000, 1_000), "in 1 min 05 s");
  assert.equal(relativeOf(0, 59_999), "59 s ago");
  assert.equal(relativeOf(0, 12 * 60_000), "12 min ago");
  assert.equal(relativeOf(0, 49 * 3_600_000), "2 d ago");
});

test("durations and lateness have as many digits as they deserve", () => {
  assert.equal(format.durationOf(820.4), "820 ms");
  assert.equal(format.durationOf(4_240), "4.2 s");
  assert.equal(format.durationOf(200_000), "3 min 20 s");
  assert.equal(format.latenessOf(999), "on time");
  assert.equal(format.latenessOf(2_000), "+2.0 s");
});

test("a narrow place shows the last part of a zone's name", () => {
  assert.equal(shortZone("America/Argentina/Buenos_Aires"), "Buenos Aires");
  assert.equal(shortZone("UTC"), "UTC");
});
