// The date heading a conversation is listed under, and the short time beside it.
import { clockOf, dateKey, dayOf, longDayOf } from "../time/format";

const DAY_MS = 86_400_000;
const daysBetween = (from: string, to: string) =>
  Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS);

/** `order` grows with the age of what is in the group. */
export type DateGroup = { order: number; name: string };

export function dateGroup(at: number, now: number, zone: string): DateGroup {
  const days = daysBetween(dateKey(at, zone), dateKey(now, zone));
  if (days <= 0) return { order: 0, name: "Today" };
  if (days === 1) return { order: 1, name: "Yesterday" };
  if (days < 8) return { order: 2, name: "Previous 7 days" };
  if (days < 31) return { order: 3, name: "Previous 30 days" };
  const [, , month = "", year = ""] = longDayOf(at, zone).split(" ");
  const [y = 0, m = 0] = dateKey(at, zone).split("-").map(Number);
  // Later months come first.
  return { order: 1_000_000 - (y * 12 + m), name: `${month} ${year}` };
}

/** `08:12` for today and yesterday, then `16 Nov`. */
export function shortTime(at: number, now: number, zone: string): string {
  return dateGroup(at, now, zone).order < 2 ? clockOf(at, zone) : dayOf(at, zone).split(" ").slice(1).join(" ");
}

/** The heading above each item that begins a group; an item out of order stays in the current group. */
export function headings(instants: readonly number[], now: number, zone: string): (string | null)[] {
  let last = -1;
  return instants.map((at) => {
    const { order, name } = dateGroup(at, now, zone);
    if (order <= last) return null;
    last = order;
    return name;
  });
}
