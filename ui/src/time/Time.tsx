// How the page shows an instant: the wall time with its zone beside it, or the distance with the wall time on hover.
import { Tooltip } from "../parts/Tooltip";
import { nowMs, useNowNear } from "./clock";
import { relativeOf, type Seconds, shortZone, stampOf, zoneName } from "./format";

type StampProps = { at: string; zone: string; seconds?: Seconds; className?: string };

export function Stamp({ at, zone, seconds = false, className }: StampProps) {
  const instant = Date.parse(at);
  return (
    <time dateTime={at} className={className}>
      <span className="whitespace-nowrap">{stampOf(instant, zone, nowMs(), seconds)}</span> <Zone name={zone} />
    </time>
  );
}

/** The wall time in columns, for times that stand one under another as in a timetable. */
export function Wall({ at, zone, seconds = false }: Omit<StampProps, "className">) {
  const instant = Date.parse(at);
  const [weekday, day, month, ...rest] = stampOf(instant, zone, nowMs(), seconds).split(" ");
  return (
    <time dateTime={at} className="whitespace-nowrap">
      <span className="inline-block w-[2.2em]">{weekday}</span>{" "}
      <span className="inline-block w-[1.2em] text-right">{day}</span>{" "}
      <span className="inline-block w-[2em]">{month}</span> {rest.join(" ")}
    </time>
  );
}

export function Zone({ name, short = false }: { name: string; short?: boolean }) {
  return (
    <span className="zone" title={zoneName(name)}>
      {short ? shortZone(name) : zoneName(name)}
    </span>
  );
}

type RelativeProps = { at: string; zone: string; className?: string };

export function Relative({ at, zone, className }: RelativeProps) {
  const instant = Date.parse(at);
  const now = useNowNear(instant);
  const wall = `${stampOf(instant, zone, now, true)} ${zoneName(zone)}`;
  return (
    <Tooltip text={wall}>
      <time
        dateTime={at}
        tabIndex={0}
        aria-label={`${relativeOf(instant, now)}, ${wall}`}
        className={`whitespace-nowrap ${className ?? ""}`}
      >
        {relativeOf(instant, now)}
      </time>
    </Tooltip>
  );
}
