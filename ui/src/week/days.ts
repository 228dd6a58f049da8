// Seven days of a zone, with their true lengths: some have 23 hours, some 25, and one in Lord Howe 23 and a half.
import type { Run, Upcoming } from "../api/types";
import type { Shape } from "../parts/Glyph";
import { shapeOfRun } from "../parts/Glyph";
import { outcomeOf } from "../parts/words";
import { addDays, clockOf, dateKey, instantOf, offsetMs, partsOf } from "../time/format";

export type Day = { date: string; from: number; to: number; shift: { ms: number; at: number } | null };
export type Item = {
  key: string;
  at: number;
  clock: string;
  hour: number;
  name: string;
  shape: Shape;
  says: string;
  to: string;
  count: number;
};

/** The Monday of the week that holds this instant. */
export function mondayOf(at: number, zone: string): string {
  const date = dateKey(at, zone);
  const weekday = new Date(`${date}T12:00:00Z`).getUTCDay();
  return addDays(date, weekday === 0 ? -6 : 1 - weekday);
}

export function daysFrom(monday: string, zone: string): Day[] {
  return Array.from({ length: 7 }, (_, index) => {
    const date = addDays(monday, index);
    const from = instantOf(date, "00:00", zone);
    const to = instantOf(addDays(date, 1), "00:00", zone);
    return { date, from, to, shift: shiftWithin(from, to, zone) };
  });
}

function shiftWithin(from: number, to: number, zone: string): Day["shift"] {
  const before = offsetMs(from, zone);
  // The day's last minute, not its end: a change at midnight belongs to the day that begins with it.
  const ms = offsetMs(to - 60_000, zone) - before;
  if (ms === 0) return null;
  let low = from;
  let high = to - 60_000;
  while (high - low > 60_000) {
    const middle = Math.floor((low + high) / 120_000) * 60_000;
    if (offsetMs(middle, zone) === before) low = middle;
    else high = middle;
  }
  return { ms, at: high };
}

export function itemOfRun(run: Run, zone: string, to: string): Item {
  const at = Date.parse(run.scheduled_for);
  return {
    key: run.id,
    at,
    clock: clockOf(at, zone),
    hour: partsOf(at, zone).hour,
    name: run.job_name,
    shape: shapeOfRun(run.state),
    says: outcomeOf(run),
    to,
    count: run.missed_count ?? 1,
  };
}

export function itemOfUpcoming(coming: Upcoming, zone: string, to: string): Item {
  const at = Date.parse(coming.at);
  return {
    key: `${coming.job_id} ${coming.at}`,
    at,
    clock: clockOf(at, zone),
    hour: partsOf(at, zone).hour,
    name: coming.job_name,
    shape: "coming",
    says: coming.count > 1 ? `Coming, ${coming.count} times this day` : "Coming",
    to,
    count: coming.count,
  };
}

/** Many of one automation in one hour with one outcome are one line with a count. */
export function fold(items: Item[]): Item[] {
  const folded = new Map<string, Item>();
  for (const item of items) {
    const key = `${item.name} ${item.shape} ${item.says}`;
    const have = folded.get(key);
    folded.set(key, have ? { ...have, count: have.count + item.count } : item);
  }
  return [...folded.values()].sort((a, b) => a.at - b.at);
}

/** The folded items of each day and hour, by `date hour`. */
export function byCell(items: Item[], days: Day[]): Map<string, Item[]> {
  const cells = new Map<string, Item[]>();
  for (const item of items) {
    const day = days.find((one) => item.at >= one.from && item.at < one.to);
    if (!day) continue;
    const key = `${day.date} ${item.hour}`;
    const cell = cells.get(key);
    if (cell) cell.push(item);
    else cells.set(key, [item]);
  }
  for (const [key, cell] of cells) cells.set(key, fold(cell));
  return cells;
}
