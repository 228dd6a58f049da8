// The week as a timetable: what ran, with how it went, and what is to come, in the zone one chooses.
import { useInfiniteQuery } from "@tanstack/react-query";
import { memo, useEffect, useMemo, useRef, useState } from "react";
import { keys } from "../api/cache";
import { listRuns } from "../api/operations";
import { flat, useMyZone, useUpcoming } from "../api/queries";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Glyph } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { useMedia } from "../parts/useMedia";
import { useTitle } from "../parts/useTitle";
import { ZoneField } from "../parts/ZoneField";
import { Link, pathTo, setSearch, useSearch } from "../router";
import { useNow } from "../time/clock";
import { addDays, browserZone, clockOf, dateKey, dayOf, knownZone, lengthOf, partsOf, two } from "../time/format";
import { Zone } from "../time/Time";
import { byCell, type Day, daysFrom, fold, type Item, itemOfRun, itemOfUpcoming, mondayOf } from "./days";

const MOST_PAGES = 5;
/** Above this many items in a week, each hour shows only some of them, and the rest on request. */
const CROWDED = 500;
const nothing: Item[] = [];

export default function WeekPage() {
  useTitle("Week");
  const search = useSearch();
  const mine = useMyZone();
  const wanted = search.get("tz") ?? "";
  const zone = wanted !== "" && knownZone(wanted) ? wanted : mine;
  const now = useNow(60_000);
  const monday = search.get("week") ?? mondayOf(now, zone);
  const days = useMemo(() => daysFrom(monday, zone), [monday, zone]);
  const { items, runs, upcoming } = useItems(days, zone, now);
  const wide = useMedia("(min-width: 64rem)");
  const today = dateKey(now, zone);

  return (
    <div className="page wide">
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h1>Week</h1>
        <p className="text-mute">
          {dayOf(days[0]?.from ?? 0, zone)} to {dayOf(days[6]?.from ?? 0, zone)} {monday.slice(0, 4)}{" "}
          <Zone name={zone} />
        </p>
        <div className="ml-auto flex items-center gap-1">
          <button
            type="button"
            className="icon-button"
            aria-label="Week before"
            onClick={() => setSearch({ week: addDays(monday, -7) })}
          >
            <Icon name="back" />
          </button>
          <button type="button" className="button" onClick={() => setSearch({ week: null })}>
            This week
          </button>
          <button
            type="button"
            className="icon-button"
            aria-label="Week after"
            onClick={() => setSearch({ week: addDays(monday, 7) })}
          >
            <Icon name="forward" />
          </button>
          <ZoneChoice zone={zone} mine={mine} wanted={wanted} />
        </div>
      </header>
      <Legend />
      {(runs.isPending || upcoming.isPending) && <Loading rows={6} />}
      {runs.isError && <LoadError error={runs.error} again={() => void runs.refetch()} />}
      {upcoming.isError && !runs.isError && <LoadError error={upcoming.error} again={() => void upcoming.refetch()} />}
      {runs.isSuccess && upcoming.isSuccess && items.length === 0 && (
        <EmptyState icon="week" title="Nothing ran, and nothing is planned, in this week">
          {days.map(
            (day) =>
              day.shift && (
                <p key={day.date}>
                  {dayOf(day.from, zone)} is {shiftWords(day, zone)}.
                </p>
              ),
          )}
          <Link to="/automations/new" className="link">
            Make an automation
          </Link>
        </EmptyState>
      )}
      {items.length > 0 &&
        (wide ? (
          <Grid
            days={days}
            items={items}
            zone={zone}
            today={today}
            now={now}
            whole={runs.isSuccess && upcoming.isSuccess}
          />
        ) : (
          <Agenda days={days} items={items} zone={zone} today={today} />
        ))}
      {runs.hasNextPage && !runs.isFetchingNextPage && (
        <p className="mt-3 text-small text-mute">Only the newest 1,000 runs of this week are drawn.</p>
      )}
      {upcoming.data?.more && (
        <p className="mt-3 text-small text-mute">
          Not all that is to come is drawn: only what the 500 automations that are due first will do.
        </p>
      )}
    </div>
  );
}

function useItems(days: Day[], zone: string, now: number) {
  const from = new Date(days[0]?.from ?? 0).toISOString();
  const to = new Date(days[6]?.to ?? 0).toISOString();
  const runs = useInfiniteQuery({
    queryKey: [...keys.runs, { from, to }],
    queryFn: ({ pageParam }) => listRuns({ from, to, limit: 200, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = runs;
  const pages = runs.data?.pages.length ?? 0;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && pages < MOST_PAGES) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, pages, fetchNextPage]);
  const upcoming = useUpcoming(from, to);
  // Apart, because each page of runs that arrives would make all that is coming again.
  const past = useMemo(() => flat(runs.data).map((run) => itemOfRun(run, zone, pathTo.run(run.id))), [runs.data, zone]);
  const coming = useMemo(
    () => (upcoming.data?.items ?? []).map((one) => itemOfUpcoming(one, zone, pathTo.job(one.job_id))),
    [upcoming.data, zone],
  );
  const items = useMemo(
    () =>
      [...past, ...coming.filter((item) => item.at > now - 60_000)].filter(
        (item) => item.at >= (days[0]?.from ?? 0) && item.at < (days[6]?.to ?? 0),
      ),
    [past, coming, now, days],
  );
  return { items, runs, upcoming };
}

function ZoneChoice({ zone, mine, wanted }: { zone: string; mine: string; wanted: string }) {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState(zone);
  const choose = (name: string) => {
    setText(name);
    if (knownZone(name)) setSearch({ tz: name === mine ? null : name });
  };
  return (
    <div className="relative">
      <button type="button" className="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="clock" size={15} /> Zone
      </button>
      {open && (
        <div className="menu absolute right-0 mt-1 w-72 !p-3">
          <ZoneField label="Show the week in" value={wanted && !knownZone(wanted) ? wanted : text} onChange={choose} />
          <div className="mt-2 flex flex-wrap gap-2">
            {[...new Set([mine, browserZone, "UTC"])].map((name) => (
              <button key={name} type="button" className="link text-small" onClick={() => choose(name)}>
                {name}
              </button>
            ))}
          </div>
        </div>
      )}
    </div>
  );
}

function Legend() {
  return (
    <p className="mt-3 mb-4 flex flex-wrap gap-x-5 gap-y-1 text-small text-mute" aria-label="Legend">
      {(["ok", "error", "waiting", "running", "skipped", "cancelled", "coming"] as const).map((shape) => (
        <span key={shape} className="inline-flex items-center gap-1.5">
          <Glyph shape={shape} size={11} /> {shape}
        </span>
      ))}
    </p>
  );
}

type GridProps = { days: Day[]; items: Item[]; zone: string; today: string; now: number; whole: boolean };

/** In a full week the hour one is in may be far down: it is brought into sight once, when the week is opened. */
function useSeeNow(whole: boolean) {
  const cell = useRef<HTMLTableCellElement>(null);
  const done = useRef(false);
  useEffect(() => {
    if (!whole || done.current) return;
    done.current = true;
    // After the frame that opens the page, which begins at its top.
    const frame = requestAnimationFrame(() => {
      const main = cell.current?.closest("main");
      if (main && cell.current && cell.current.getBoundingClientRect().bottom > main.getBoundingClientRect().bottom)
        cell.current.scrollIntoView({ block: "center" });
    });
    return () => cancelAnimationFrame(frame);
  }, [whole]);
  return cell;
}

/** Hours with something in them are as tall as they need; empty ones are a hairline apart. */
function Grid({ days, items, zone, today, now, whole }: GridProps) {
  const here = useSeeNow(whole);
  const hour = partsOf(now, zone).hour;
  const cells = useMemo(() => byCell(items, days), [items, days]);
  const used = [
    ...new Set([...items.map((item) => item.hour), ...(days.some((day) => day.date === today) ? [hour] : [])]),
  ].sort((a, b) => a - b);
  return (
    <table className="w-full table-fixed border-collapse">
      <caption className="sr-only">Runs of the week by hour and day</caption>
      {/* A border of a row would scroll away from under a head that stays; a shadow does not. */}
      <thead className="sticky top-0 z-10 bg-paper shadow-[0_1px_0_var(--color-line)]">
        <tr>
          <th className="w-14" scope="col">
            <span className="sr-only">Hour</span>
          </th>
          {days.map((day) => (
            <th
              key={day.date}
              scope="col"
              className={`px-2 pt-1.5 pb-1.5 text-left align-bottom ${day.date === today ? "text-accent" : ""}`}
            >
              {dayOf(day.from, zone)}
              <ShiftMark day={day} zone={zone} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {used.map((row) => (
          <tr key={row} className="border-b">
            <th scope="row" className="py-1.5 text-left align-top text-fine font-normal text-mute">
              {two(row)}:00
            </th>
            {days.map((day) => {
              const current = day.date === today && row === hour;
              return (
                <td
                  key={day.date}
                  ref={current ? here : undefined}
                  className={`border-l px-1.5 py-1 align-top ${current ? "bg-accent-tint" : ""}`}
                >
                  {current && (
                    <span className="mb-0.5 block text-fine font-semibold text-accent">now {clockOf(now, zone)}</span>
                  )}
                  <Items
                    items={cells.get(`${day.date} ${row}`) ?? nothing}
                    zone={zone}
                    room={items.length > CROWDED ? 3 : 6}
                  />
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Agenda({ days, items, zone, today }: Omit<GridProps, "now" | "whole">) {
  return (
    <div>
      {days.map((day) => {
        const own = fold(items.filter((item) => item.at >= day.from && item.at < day.to));
        return (
          <section key={day.date} aria-label={dayOf(day.from, zone)} className="border-t py-2.5">
            <p className={`flex items-baseline gap-3 font-semibold ${day.date === today ? "text-accent" : ""}`}>
              {dayOf(day.from, zone)}
              {day.date === today && <span className="text-fine font-normal">today</span>}
            </p>
            <ShiftMark day={day} zone={zone} />
            {own.length === 0 && <p className="text-small text-mute">Nothing</p>}
            <Items items={own} zone={zone} room={12} roomy />
          </section>
        );
      })}
    </div>
  );
}

/** A full hour is cut, and opens when it is asked to. */
const Items = memo(function Items({
  items,
  zone,
  room,
  roomy = false,
}: {
  items: Item[];
  zone: string;
  room: number;
  roomy?: boolean;
}) {
  const [open, setOpen] = useState(false);
  const shown = open || items.length <= room + 1 ? items : items.slice(0, room);
  return (
    <>
      {shown.map((item) => (
        <ItemLine key={item.key} item={item} zone={zone} roomy={roomy} />
      ))}
      {shown.length < items.length && (
        <button type="button" className="link min-h-6 px-1 text-fine" onClick={() => setOpen(true)}>
          {items.length - shown.length} more
        </button>
      )}
    </>
  );
});

function ItemLine({ item, zone, roomy = false }: { item: Item; zone: string; roomy?: boolean }) {
  return (
    <Link
      to={item.to}
      title={`${item.name}\n${item.clock} ${zone}\n${item.says}`}
      className={`grid items-baseline rounded px-1 hover:bg-hover ${roomy ? "grid-cols-[auto_auto_minmax(0,1fr)_auto] gap-x-3 py-1" : "grid-cols-[auto_minmax(0,1fr)_auto] gap-x-1.5 py-0.5 text-fine leading-snug"}`}
    >
      <Glyph shape={item.shape} size={10} label={item.says} />
      <span className="text-mute">{item.clock}</span>
      {/* A column is narrow: there the name stands under its time, in as many lines as it takes. */}
      <span className={`[overflow-wrap:anywhere] ${roomy ? "" : "order-last col-span-2 col-start-2"}`}>
        {item.name}
      </span>
      {item.count > 1 && <span className="text-fine text-mute">×{item.count}</span>}
    </Link>
  );
}

/** A day on which the clocks change says so, and by how much. */
function ShiftMark({ day, zone }: { day: Day; zone: string }) {
  if (!day.shift) return null;
  return <span className="block text-fine font-normal text-wait">{shiftWords(day, zone)}</span>;
}

/** A day of 25 hours is not one of "1 day 1 h". */
function hoursOf(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function shiftWords(day: Day, zone: string): string {
  if (!day.shift) return "";
  const way = day.shift.ms > 0 ? "forward" : "back";
  return `${hoursOf(day.to - day.from)} long: clocks go ${way} ${lengthOf(Math.abs(day.shift.ms))} to ${clockOf(day.shift.at, zone)}`;
}
