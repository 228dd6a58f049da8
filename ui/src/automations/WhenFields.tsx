// One box for words, four tabs for hands. Below them the next five times, as the server will fire them.
import { Tabs } from "radix-ui";
import { useEffect, useRef } from "react";
import type { Preview } from "../api/types";
import { ClockField } from "../parts/ClockField";
import { Icon } from "../parts/Icon";
import { useMedia } from "../parts/useMedia";
import { ZoneField } from "../parts/ZoneField";
import { useNow } from "../time/clock";
import { clockOf, clockWithSeconds, dayOf, relativeOf } from "../time/format";
import { Wall } from "../time/Time";
import { isWholeHours, showIn, type Tab, type Unit, unitMs, type When } from "./draft";
import type { Previewed } from "./usePreview";

const tabs: [Tab, string][] = [
  ["at", "Once"],
  ["every", "Every"],
  ["days", "Days"],
  ["cron", "Cron"],
];
const dayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

type WhenProps = {
  when: When;
  setWhen: (when: When) => void;
  previewed: Previewed;
  refused: { schedule: string | null; zone: string | null };
};

export function WhenFields({ when, setWhen, previewed, refused }: WhenProps) {
  const { preview } = previewed;
  const inWords = when.source === "text";
  // Words may have named a zone of their own; the tabs go on from there.
  const zone = inWords && preview ? preview.timezone : when.zone;
  const byHand = (changes: Partial<When>) => setWhen({ ...when, source: "tab", text: "", zone, ...changes });
  const scheduleError = refused.schedule ?? previewed.scheduleError ?? previewed.otherError;
  const wrongWords = inWords ? scheduleError : null;
  const wrongTab = inWords ? null : scheduleError;

  // Words that were understood are shown in the tabs too, once for each answer.
  const shown = useRef<Preview | null>(null);
  useEffect(() => {
    if (!inWords || !preview || shown.current === preview) return;
    shown.current = preview;
    setWhen({ ...showIn(when, preview.schedule), zone: when.zone });
  }, [when, inWords, preview, setWhen]);

  return (
    <>
      <label className="flex flex-col gap-1">
        <span className="text-small font-semibold">When</span>
        <input
          data-when
          className="field !text-large"
          placeholder="“tomorrow at 9:30”, “every 2 hours”"
          value={when.text}
          autoComplete="off"
          spellCheck={false}
          aria-invalid={wrongWords !== null}
          aria-describedby="when-says"
          onChange={(event) =>
            setWhen({ ...when, source: event.target.value.trim() === "" ? "tab" : "text", text: event.target.value })
          }
        />
      </label>
      <div id="when-says" aria-live="polite" className="mt-1 min-h-[1.4rem] text-small">
        {wrongWords ? (
          <span className="text-bad">{wrongWords}</span>
        ) : preview ? (
          <span className="font-semibold">{preview.words}</span>
        ) : (
          <span className="text-mute">
            {previewed.busy
              ? "Reading"
              : previewed.zoneError
                ? "Not read: its time zone is not known."
                : "Say it in words, or choose below."}
          </span>
        )}
      </div>
      <Tabs.Root value={when.tab} onValueChange={(tab) => byHand({ tab: tab as Tab })} className="mt-3">
        <Tabs.List aria-label="Kind of schedule" className="flex gap-1 border-b">
          {tabs.map(([tab, name]) => (
            <Tabs.Trigger
              key={tab}
              value={tab}
              className="-mb-px border-b-2 border-transparent px-3 py-1.5 text-mute hover:text-ink data-[state=active]:border-ink data-[state=active]:font-semibold data-[state=active]:text-ink"
            >
              {name}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <div className="py-4">
          <Tabs.Content value="at" className="flex flex-wrap items-start gap-3">
            <label className="flex flex-col gap-1 text-small text-mute">
              Date
              <input
                type="date"
                className="field !w-auto text-ink"
                value={when.date}
                onChange={(event) => byHand({ date: event.target.value })}
              />
            </label>
            <ClockField label="Time" value={when.clock} onChange={(clock) => byHand({ clock })} />
          </Tabs.Content>
          <Tabs.Content value="every" className="flex flex-wrap items-end gap-3">
            <label className="flex flex-col gap-1 text-small text-mute">
              Every
              <input
                type="number"
                min={1}
                step={1}
                className="field !w-24 text-ink"
                value={Number.isNaN(when.amount) ? "" : when.amount}
                onChange={(event) => byHand({ amount: event.target.valueAsNumber })}
              />
            </label>
            <select
              aria-label="Unit"
              className="field !w-auto"
              value={when.unit}
              onChange={(event) => byHand({ unit: event.target.value as Unit })}
            >
              {Object.keys(unitMs).map((unit) => (
                <option key={unit}>{unit}</option>
              ))}
            </select>
            {isWholeHours(when) && (
              <label className="flex h-9 items-center gap-2">
                <input
                  type="checkbox"
                  className="size-4 accent-(--color-accent)"
                  checked={when.onHour !== null}
                  onChange={(event) =>
                    byHand({ anchor: null, onHour: event.target.checked ? new Date().toISOString() : null })
                  }
                />
                On the full hour
              </label>
            )}
          </Tabs.Content>
          <Tabs.Content value="days" className="flex flex-wrap items-start gap-x-5 gap-y-3">
            <DayPicker days={when.days} onChange={(days) => byHand({ days })} />
            <ClockField label="at" value={when.dayClock} onChange={(dayClock) => byHand({ dayClock })} />
          </Tabs.Content>
          <Tabs.Content value="cron">
            <label className="flex flex-col gap-1 text-small text-mute">
              Expression: minute, hour, day, month, weekday; six fields begin with seconds
              <input
                className="field font-mono text-ink"
                value={when.cron}
                spellCheck={false}
                autoComplete="off"
                aria-invalid={wrongTab !== null}
                aria-describedby="tab-says"
                onChange={(event) => byHand({ cron: event.target.value })}
              />
            </label>
          </Tabs.Content>
          <div id="tab-says" aria-live="polite" className="text-small text-bad">
            {wrongTab && <p className="pt-2">{wrongTab}</p>}
          </div>
        </div>
      </Tabs.Root>
      <div className="max-w-[22rem]">
        <ZoneField
          label="Time zone"
          value={when.zone}
          onChange={(zone) => setWhen({ ...when, zone })}
          error={refused.zone ?? previewed.zoneError}
        />
      </div>
      <NextTable preview={preview} busy={previewed.busy} />
    </>
  );
}

function DayPicker({ days, onChange }: { days: number[]; onChange: (days: number[]) => void }) {
  const toggle = (day: number) => onChange(days.includes(day) ? days.filter((other) => other !== day) : [...days, day]);
  return (
    <fieldset>
      <legend className="pb-1 text-small text-mute">On</legend>
      <div className="flex flex-wrap gap-1">
        {dayNames.map((name, index) => {
          const on = days.includes(index + 1);
          return (
            <button
              key={name}
              type="button"
              aria-pressed={on}
              className={`h-9 w-11 rounded-md border text-small ${on ? "border-ink bg-ink text-paper" : "hover:bg-hover"}`}
              onClick={() => toggle(index + 1)}
            >
              {name}
            </button>
          );
        })}
      </div>
    </fieldset>
  );
}

/** On a phone the date stands in the first column already; the weekday says whether UTC is a day off. */
const shortUtc = (at: number) =>
  `${dayOf(at, "UTC").split(" ", 1)[0]} ${at % 60_000 === 0 ? clockOf(at, "UTC") : clockWithSeconds(at, "UTC")}`;

/** The next five, three ways: on the wall there, how far away, and in UTC. */
function NextTable({ preview, busy }: { preview: Preview | undefined; busy: boolean }) {
  const now = useNow();
  const narrow = useMedia("(max-width: 30rem)");
  return (
    <div className="mt-4" aria-live="polite" aria-busy={busy}>
      {preview?.warnings.map((warning) => (
        <p key={warning} className="mb-2 flex items-start gap-2 text-small text-wait">
          <Icon name="note" size={15} className="mt-1 flex-none" /> {warning}
        </p>
      ))}
      <table className="w-full border-collapse text-small">
        <caption className="sr-only">The next five times</caption>
        <thead>
          <tr className="border-b text-left text-fine text-mute">
            <th scope="col" className="py-1 pr-3 font-normal">
              Next, in {preview?.timezone ?? "the zone"}
            </th>
            <th scope="col" className="py-1 pr-3 font-normal">
              From now
            </th>
            <th scope="col" className="py-1 font-normal">
              UTC
            </th>
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: 5 }, (_, index) => {
            const at = preview?.next[index];
            const instant = at ? Date.parse(at) : 0;
            return (
              <tr key={index} className="h-8 border-b border-dashed">
                <td className="pr-3 whitespace-nowrap">
                  {at && preview && <Wall at={at} zone={preview.timezone} seconds="if any" />}
                </td>
                <td className="pr-3 whitespace-nowrap text-mute">{at ? relativeOf(instant, now) : ""}</td>
                <td className="whitespace-nowrap text-mute">
                  {at && (narrow ? shortUtc(instant) : <Wall at={at} zone="UTC" seconds="if any" />)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
