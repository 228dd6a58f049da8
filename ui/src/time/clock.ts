// One clock for the page. It follows the server's time, ticks once a second, and only wakes those whose figure changes.
import { useSyncExternalStore } from "react";

let skewMs = 0;
let timer: number | undefined;
const listeners = new Set<() => void>();

export function setServerTime(instant: string) {
  const server = Date.parse(instant);
  if (!Number.isNaN(server)) skewMs = server - Date.now();
}

export function nowMs(): number {
  return Date.now() + skewMs;
}

function tick() {
  for (const listener of listeners) listener();
  // Aim at the second's beginning, so that all countdowns step together.
  timer = window.setTimeout(tick, 1000 - (nowMs() % 1000) + 5);
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  if (timer === undefined) tick();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearTimeout(timer);
    timer = undefined;
  };
}

/** Now, rounded down to `everyMs`: a component asking by the minute is drawn once a minute. */
export function useNow(everyMs = 1000): number {
  return useSyncExternalStore(subscribe, () => Math.floor(nowMs() / everyMs) * everyMs);
}

/** Now, as finely as the distance to `at` deserves: by the second within an hour, else by the minute. */
export function useNowNear(at: number): number {
  return useSyncExternalStore(subscribe, () => {
    const now = nowMs();
    const step = Math.abs(at - now) < 3_660_000 ? 1000 : 60_000;
    return Math.floor(now / step) * step;
  });
}
