// Instants to words. Every wall time is told in a named zone, with 24 hours and tabular figures.

export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = zone + JSON.stringify(options);
  let found = formats.get(name);
  if (!found) {
    found = new Intl.DateTimeFormat("en-GB", {
      timeZone: knownZone(zone) ? zone : "UTC",
      hourCycle: "h23",
      ...options,
    });
    formats.set(name, found);
  }
  return found;
}

const known = new Map<string, boolean>();

export function knownZone(zone: string): boolean {
  let answer = known.get(zone);
  if (answer === undefined) {
    try {
      new Intl.DateTimeFormat("en-GB", { timeZone: zone });
      answer = true;
    } catch {
      answer = false;
    }
    known.set(zone, answer);
  }
  return answer;
}

const UTC_NAMES = new Set(["Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"]);

/** One thing has one name. */
export const zoneName = (zone: string) => (UTC_NAMES.has(zone) ? "UTC" : zone);

export function allZones(): string[] {
  const zones = Intl.supportedValuesOf("timeZone");
  return zones.includes("UTC") ? zones : ["UTC", ...zones];
}

export const clockOf = (at: number, zone: string) => format(zone, { hour: "2-digit", minute: "2-digit" }).format(at);
export const clockWithSeconds = (at: number, zone: string) =>
  format(zone, { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(at);
/** `Mon 16 Nov`. British English alone writes a month with four letters: the server says Sep, and so do columns. */
export const dayOf = (at: number, zone: string) =>
  format(zone, { weekday: "short", day: "numeric", month: "short" }).format(at).replace(",", "").replace("Sept", "Sep");
export const longDayOf = (at: number, zone: string) =>
  format(zone, { weekday: "long", day: "numeric", month: "long", year: "numeric" }).format(at).replace(",", "");

/** Whether an instant shows its seconds; "if any" hides 00, whatever its milliseconds are. */
export type Seconds = boolean | "if any";

/** `Mon 16 Nov 08:00`, with the year once it is another one than now's. */
export function stampOf(at: number, zone: string, now: number, seconds: Seconds = false): string {
  const withSeconds = seconds === "if any" ? Math.floor(at / 1000) % 60 !== 0 : seconds;
  const year = format(zone, { year: "numeric" });
  const other = year.format(at) !== year.format(now) ? ` ${year.format(at)}` : "";
  return `${dayOf(at, zone)}${other} ${withSeconds ? clockWithSeconds(at, zone) : clockOf(at, zone)}`;
}

/** The date as YYYY-MM-DD in that zone: two instants share a day exactly if these are equal. */
export function dateKey(at: number, zone: string): string {
  const part = partsOf(at, zone);
  return `${part.year}-${two(part.month)}-${two(part.day)}`;
}

export type Wall = { year: number; month: number; day: number; hour: number; minute: number; second: number };

export function partsOf(at: number, zone: string): Wall {
  const parts = format(zone, {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).formatToParts(at);
  const read = (type: string) => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return {
    year: read("year"),
    month: read("month"),
    day: read("day"),
    hour: read("hour"),
    minute: read("minute"),
    second: read("second"),
  };
}

export function offsetMs(at: number, zone: string): number {
  const wall = partsOf(at, zone);
  return (
    Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute, wall.second) - Math.floor(at / 1000) * 1000
  );
}

/** The instant of a wall time. In a gap it is the instant right after; in a fold the first of the two. */
export function instantOf(date: string, clock: string, zone: string): number {
  const plain = Date.parse(`${date}T${clock}:00Z`);
  const early = plain - offsetMs(plain - 86_400_000, zone);
  const late = plain - offsetMs(plain + 86_400_000, zone);
  const fits = [early, late].filter((at) => at + offsetMs(at, zone) === plain);
  return fits.length > 0 ? Math.min(...fits) : Math.max(early, late);
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

export const two = (value: number) => String(value).padStart(2, "0");

/** `3 h 05 min`: the two largest units, short and steady in width. */
export function spanOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${two(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${two(minutes % 60)} min`;
  const days = Math.floor(hours / 24);
  return days < 14 && hours % 24 > 0 ? `${days} d ${hours % 24} h` : `${days} d`;
}

/** A length that stands still, without empty units: `5 min`, `1 h 30 min`, `1 day`. */
export function lengthOf(ms: number): string {
  const units: [size: number, name: string][] = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1000, "s"],
  ];
  let left = Math.round(ms / 1000) * 1000;
  const parts: string[] = [];
  for (const [size, name] of units) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(name === "d" ? `${count} ${count === 1 ? "day" : "days"}` : `${count} ${name}`);
  }
  return parts.join(" ") || "0 s";
}

/** How far away an instant is: `in 3 h 05 min`, `now`, `12 min ago`. */
export function relativeOf(at: number, now: number): string {
  const away = at - now;
  if (Math.abs(away) < 1000) return "now";
  if (away > 0) return `in ${spanOf(away)}`;
  const ago = -away;
  if (ago < 60_000) return `${Math.floor(ago / 1000)} s ago`;
  if (ago < 3_600_000) return `${Math.floor(ago / 60_000)} min ago`;
  if (ago < 86_400_000) return `${Math.floor(ago / 3_600_000)} h ago`;
  return `${Math.floor(ago / 86_400_000)} d ago`;
}

/** How long something took: `820 ms`, `4.2 s`, `3 min 20 s`. */
export function durationOf(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return spanOf(ms);
}

/** How much later than due: `on time` up to a second, then a signed figure. */
export function latenessOf(ms: number): string {
  return ms < 1000 ? "on time" : `+${durationOf(ms)}`;
}

/** The last part of a zone's name, for narrow places; the whole name goes beside it as a title. */
export const shortZone = (zone: string) => (zone.split("/").at(-1) ?? zone).replaceAll("_", " ");
