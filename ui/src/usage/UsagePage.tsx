// What model calls used and cost: by day as bars, then by automation, agent or model.
import { useState } from "react";
import { useUsage } from "../api/queries";
import type { UsageItem, UsageReport } from "../api/types";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { useTitle } from "../parts/useTitle";
import { plural } from "../parts/words";
import { dollars } from "../turns/Spent";

const groups = [
  ["job", "Automations"],
  ["agent", "Agents"],
  ["model", "Models"],
  ["session", "Conversations"],
] as const;

export default function UsagePage() {
  useTitle("Usage");
  const [by, setBy] = useState<(typeof groups)[number][0]>("job");
  const days = useUsage("day");
  const list = useUsage(by);
  return (
    <div className="page">
      <h1>Usage</h1>
      {days.isPending && <Loading />}
      {days.isError && <LoadError error={days.error} again={() => void days.refetch()} />}
      {days.data && <Totals report={days.data} />}
      {days.data?.items.length === 0 && (
        <EmptyState icon="clock" title="Nothing was used yet">
          Each call of a model is counted here, with its tokens and its price.
        </EmptyState>
      )}
      {days.data && days.data.items.length > 0 && (
        <>
          <Bars report={days.data} />
          <nav aria-label="Sum by" className="mt-6 flex gap-1 overflow-x-auto border-b">
            {groups.map(([value, name]) => (
              <button
                key={value}
                type="button"
                aria-pressed={value === by}
                className={`-mb-px flex-none border-b-2 px-2.5 py-2 ${value === by ? "border-ink font-semibold" : "border-transparent text-mute hover:text-ink"}`}
                onClick={() => setBy(value)}
              >
                {name}
              </button>
            ))}
          </nav>
          {list.data && <Sums items={list.data.items} more={list.data.more} />}
        </>
      )}
    </div>
  );
}

function Totals({ report }: { report: UsageReport }) {
  const budget = report.budget_usd_per_day;
  const facts = [
    ["Today", dollars(report.today_usd) + (budget === null ? "" : ` of ${dollars(budget)}`)],
    ["This month", dollars(report.month_usd)],
    ["Forecast for the month", dollars(report.forecast_month_usd)],
  ];
  return (
    <dl className="mt-4 flex flex-wrap gap-x-10 gap-y-3">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt className="text-small text-mute">{name}</dt>
          <dd className="text-large font-semibold">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const HIGH = 80;
const WIDE = 12;

/** One bar for each day, also for those without a call; its height is the cost, or the tokens where no price is known. */
function Bars({ report }: { report: UsageReport }) {
  const days = daysBetween(report.from, report.to);
  const known = new Map(report.items.map((item) => [item.key, item]));
  const priced = report.items.some((item) => (item.cost_usd ?? 0) > 0);
  const size = (item: UsageItem | undefined) =>
    item === undefined ? 0 : priced ? (item.cost_usd ?? 0) : item.input_tokens + item.output_tokens;
  const most = Math.max(...report.items.map(size), Number.MIN_VALUE);
  const name = `${priced ? "Cost" : "Tokens"} per day, ${report.from} to ${report.to}`;
  return (
    <figure className="mt-6">
      <svg
        role="img"
        aria-label={name}
        viewBox={`0 0 ${days.length * WIDE} ${HIGH + 1}`}
        preserveAspectRatio="none"
        className="h-24 w-full"
      >
        <path d={`M0 ${HIGH + 0.5}h${days.length * WIDE}`} className="stroke-current text-line" fill="none" />
        {days.map((day, n) => {
          const item = known.get(day);
          const high = Math.max(item ? 1.5 : 0, (size(item) / most) * HIGH);
          return (
            <rect
              key={day}
              x={n * WIDE + 1.5}
              y={HIGH - high}
              width={WIDE - 3}
              height={high}
              className="fill-(--color-accent)"
            >
              <title>{`${day}: ${item ? `${dollars(item.cost_usd)}, ${plural(item.turns, "turn")}` : "nothing"}`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption className="flex justify-between text-small text-mute">
        <span>{report.from}</span>
        <span>{name.split(",")[0]}</span>
        <span>{report.to}</span>
      </figcaption>
    </figure>
  );
}

/** Days are dates without a clock, so they are counted in UTC. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

function Sums({ items, more }: { items: UsageItem[]; more: boolean }) {
  return (
    <section className="overflow-x-auto" aria-label="Sums" tabIndex={0}>
      <table className="w-full text-left max-sm:text-small">
        <thead className="text-small text-mute">
          <tr>
            <th className="py-2 pr-4 font-normal max-sm:pr-2">Name</th>
            <th className="py-2 pr-4 text-right max-sm:pr-2 font-normal">Turns</th>
            <th className="py-2 pr-4 text-right max-sm:pr-2 font-normal">Tokens in</th>
            <th className="py-2 pr-4 text-right max-sm:pr-2 font-normal">Tokens out</th>
            <th className="py-2 text-right font-normal">Cost</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={item.key} className="border-t">
              <td className="max-w-60 min-w-32 py-2 pr-4 max-sm:pr-2 [overflow-wrap:anywhere]">{item.name}</td>
              <td className="py-2 pr-4 text-right max-sm:pr-2">{item.turns}</td>
              <td className="py-2 pr-4 text-right max-sm:pr-2">{item.input_tokens.toLocaleString("en-GB")}</td>
              <td className="py-2 pr-4 text-right max-sm:pr-2">{item.output_tokens.toLocaleString("en-GB")}</td>
              <td className="py-2 text-right">
                {dollars(item.cost_usd)}
                {item.cost_usd !== null && item.unpriced_calls > 0 && (
                  <span className="block text-small text-mute">
                    and {plural(item.unpriced_calls, "call")} of unknown price
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more && <p className="mt-2 text-small text-mute">Those that cost most are shown.</p>}
    </section>
  );
}
