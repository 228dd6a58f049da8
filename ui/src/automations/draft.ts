// The form's own picture of a schedule, and its two-way translation to the server's.
import type { Job, Payload, Schedule, ScheduleDraft } from "../api/types";
import { dateKey, partsOf, two } from "../time/format";

export type Tab = "at" | "every" | "days" | "cron";
export type Unit = "seconds" | "minutes" | "hours" | "days";

export const unitMs: Record<Unit, number> = { seconds: 1000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 };

/** Text or tabs: whichever was touched last decides, and the other follows. Without words the tabs say what they show. */
export type When = {
  source: "text" | "tab";
  text: string;
  tab: Tab;
  date: string;
  clock: string;
  amount: number;
  unit: Unit;
  anchor: string | null;
  onHour: string | null; // full hours are counted from this instant's hour; null: count from now
  days: number[]; // 1 is Monday, 7 is Sunday
  dayClock: string;
  cron: string;
  zone: string;
};

export type Draft = {
  name: string;
  sessionKey: string; // empty: a new conversation is made for it
  payloadKind: Payload["kind"];
  message: string;
  session: Job["session"];
  writeBack: Job["write_back"];
  continues: boolean;
  quiet: boolean;
  deleteAfterRun: boolean;
  catchUp: Job["catch_up"];
  windowHours: number;
  timeoutSeconds: number;
  budget: number; // dollars a day; NaN: no limit
  context: NonNullable<Payload["context"]>;
  alertAfter: number; // failures in a row; 0: never
  alertTo: string;
  script: string; // empty: nothing looks first
  scriptLanguage: Job["script_language"];
  scriptHosts: string;
  scriptSeconds: number;
};

export function emptyWhen(zone: string, now: number): When {
  const soon = now + 3_600_000;
  return {
    source: "tab",
    text: "",
    tab: "days",
    date: dateKey(soon, zone),
    clock: `${two(partsOf(soon, zone).hour)}:00`,
    amount: 2,
    unit: "hours",
    anchor: null,
    onHour: new Date(now).toISOString(),
    days: [1, 2, 3, 4, 5],
    dayClock: "08:00",
    cron: "0 8 * * 1-5",
    zone,
  };
}

export function emptyDraft(sessionKey: string): Draft {
  return {
    name: "",
    sessionKey,
    payloadKind: "agent_turn",
    message: "",
    session: "main",
    writeBack: "full",
    continues: true,
    quiet: false,
    deleteAfterRun: false,
    catchUp: "latest",
    windowHours: 24,
    timeoutSeconds: 300,
    budget: Number.NaN,
    context: "session",
    alertAfter: 3,
    alertTo: "",
    script: "",
    scriptLanguage: "bash",
    scriptHosts: "",
    scriptSeconds: 30,
  };
}

export function draftOf(job: Job): Draft {
  return {
    name: job.name,
    sessionKey: job.session_key,
    payloadKind: job.payload.kind,
    message: job.payload.message,
    session: job.session,
    writeBack: job.write_back,
    continues: job.continue,
    quiet: job.quiet,
    deleteAfterRun: job.delete_after_run,
    catchUp: job.catch_up,
    windowHours: Math.round(job.catch_up_window_seconds / 360) / 10,
    timeoutSeconds: job.payload.timeout_seconds ?? 300,
    budget: job.max_cost_usd_per_day ?? Number.NaN,
    context: job.payload.context ?? "session",
    alertAfter: job.alert_after,
    alertTo: job.alert_to.join(", "),
    script: job.script ?? "",
    scriptLanguage: job.script_language,
    scriptHosts: job.script_hosts.join(", "),
    scriptSeconds: job.script_seconds,
  };
}

/** The full hour before an instant, on the clocks of a zone: some are half an hour off UTC. */
export function fullHour(at: string, zone: string): string {
  const minutes = Math.floor(Date.parse(at) / 60_000);
  const hour = (minutes - partsOf(Date.parse(at), zone).minute) * 60_000;
  return hour === Date.parse(at) ? at : new Date(hour).toISOString();
}

/** Only steps of whole hours can come on full hours. */
export const isWholeHours = ({ amount, unit }: Pick<When, "amount" | "unit">) =>
  (amount * unitMs[unit]) % unitMs.hours === 0;

function anchorOf(when: When): string | null {
  return when.onHour !== null && isWholeHours(when) ? fullHour(when.onHour, when.zone) : when.anchor;
}

/** What the tabs say, as the server reads it. */
export function scheduleOf(when: When): ScheduleDraft {
  const tz = when.zone;
  const anchor = anchorOf(when);
  switch (when.tab) {
    case "at":
      return { kind: "at", at: `${when.date}T${when.clock}`, tz };
    case "every":
      return {
        kind: "every",
        every_ms: Math.round(when.amount * unitMs[when.unit]),
        ...(anchor ? { anchor } : {}),
        tz,
      };
    case "days":
      return { kind: "cron", cron: cronOfDays(when.days, when.dayClock), tz };
    case "cron":
      return { kind: "cron", cron: when.cron.trim(), tz };
  }
}

/** Show a schedule in the tabs; a cron expression that is only days and a time goes to Days. */
export function showIn(when: When, schedule: Schedule): When {
  const zone = schedule.tz ?? when.zone;
  if (schedule.kind === "at") {
    const at = Date.parse(schedule.at);
    const wall = partsOf(at, zone);
    return { ...when, zone, tab: "at", date: dateKey(at, zone), clock: `${two(wall.hour)}:${two(wall.minute)}` };
  }
  if (schedule.kind === "every") {
    const anchor = schedule.anchor ?? null;
    const onHour = anchor !== null && fullHour(anchor, zone) === anchor ? anchor : null;
    return { ...when, zone, tab: "every", anchor, onHour, ...amountOf(schedule.every_ms) };
  }
  const days = daysOfCron(schedule.cron);
  return days
    ? { ...when, zone, tab: "days", ...days, cron: schedule.cron }
    : { ...when, zone, tab: "cron", cron: schedule.cron };
}

function amountOf(ms: number): { amount: number; unit: Unit } {
  const units: Unit[] = ["days", "hours", "minutes", "seconds"];
  const unit = units.find((one) => ms % unitMs[one] === 0) ?? "seconds";
  return { unit, amount: ms / unitMs[unit] };
}

export function cronOfDays(days: number[], clock: string): string {
  const [hour, minute] = clock.split(":").map(Number);
  const chosen = [...days].sort((a, b) => a - b);
  const list = chosen.length === 7 ? "*" : chosen.join(",") === "1,2,3,4,5" ? "1-5" : chosen.join(",");
  return `${minute ?? 0} ${hour ?? 0} * * ${list}`;
}

function daysOfCron(cron: string): { days: number[]; dayClock: string } | null {
  const match = /^(\d{1,2}) (\d{1,2}) \* \* (\*|[0-7](?:[-,][0-7])*)$/.exec(cron);
  if (!match) return null;
  const [, minute = "0", hour = "0", list = "*"] = match;
  const days = list === "*" ? [1, 2, 3, 4, 5, 6, 7] : list.split(",").flatMap(dayRange);
  return {
    days: [...new Set(days.map((day) => (day === 0 ? 7 : day)))].sort(),
    dayClock: `${two(Number(hour))}:${two(Number(minute))}`,
  };
}

function dayRange(part: string): number[] {
  const [from = 0, to = from] = part.split("-").map(Number);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
