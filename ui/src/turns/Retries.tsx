// Model calls that failed and were made again: when, what the provider said, and how long the wait was.
import type { Retry } from "../api/types";
import { clockWithSeconds, durationOf } from "../time/format";
import { Zone } from "../time/Time";

export function Retries({ retries, zone }: { retries: Retry[]; zone: string }) {
  return (
    <ol className="border-t">
      {retries.map((retry) => (
        <li key={retry.n} className="grid gap-x-4 border-b py-2 sm:grid-cols-[11rem_minmax(0,1fr)_8rem]">
          <time dateTime={retry.at}>
            {clockWithSeconds(Date.parse(retry.at), zone)} <Zone name={zone} short />
          </time>
          <span className="[overflow-wrap:anywhere]">
            {retry.error} <span className="text-mute">({retry.model})</span>
          </span>
          <span className="text-mute sm:text-right">waited {durationOf(retry.wait_seconds * 1000)}</span>
        </li>
      ))}
    </ol>
  );
}
