// What the server makes of a schedule, asked again after a pause in typing.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Refusal } from "../api/client";
import { previewSchedule } from "../api/operations";
import type { Preview } from "../api/types";
import { scheduleOf, type When } from "./draft";

const PAUSE_MS = 250;
const COUNT = 5;

export type Previewed = {
  preview: Preview | undefined;
  busy: boolean;
  scheduleError: string | null;
  zoneError: string | null;
  otherError: string | null;
};

export function usePreview(when: When): Previewed {
  const body = JSON.stringify(bodyOf(when));
  const [asked, setAsked] = useState(body);
  useEffect(() => {
    const timer = window.setTimeout(() => setAsked(body), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [body]);

  const query = useQuery({
    queryKey: ["preview", asked],
    queryFn: () => previewSchedule(JSON.parse(asked) as ReturnType<typeof bodyOf> & object),
    enabled: asked !== "null",
    retry: false,
    gcTime: 60_000,
  });
  const settled = asked === body;
  return {
    preview: settled && body !== "null" ? query.data : undefined,
    busy: body !== "null" && (!settled || query.isFetching),
    ...errorsOf(settled ? query.error : null),
  };
}

function bodyOf(when: When) {
  const zone = when.zone ? { timezone: when.zone } : {};
  if (when.source === "text") return when.text.trim() === "" ? null : { when: when.text.trim(), ...zone, count: COUNT };
  if (when.tab === "days" && (when.days.length === 0 || !when.dayClock)) return null;
  if (when.tab === "cron" && when.cron.trim() === "") return null;
  if (when.tab === "at" && (!when.date || !when.clock)) return null;
  if (when.tab === "every" && !(when.amount > 0)) return null;
  return { schedule: scheduleOf(when), count: COUNT };
}

/** A wrong zone and a wrong expression are two different mistakes, and are said in two places. */
function errorsOf(error: unknown): Pick<Previewed, "scheduleError" | "zoneError" | "otherError"> {
  if (!(error instanceof Refusal))
    return { scheduleError: null, zoneError: null, otherError: error instanceof Error ? error.message : null };
  const isZone = (field: { field: string; code: string }) =>
    field.code === "unknown_timezone" || field.field === "timezone" || field.field.endsWith(".tz");
  const zone = error.fields.filter(isZone).map((field) => field.detail);
  const schedule = error.fields.filter((field) => !isZone(field)).map((field) => field.detail);
  if (error.fields.length === 0) schedule.push(error.message);
  return { zoneError: zone.join(" ") || null, scheduleError: schedule.join(" ") || null, otherError: null };
}
