// One clock for the page. It follows the server's time, ticks once a second, and only wakes those whose figure changes.
import { createStore } from "../store";

let skewMs = 0;

export function setServerTime(instant: string) {
  const server = Date.parse(instant);
  if (!Number.isNaN(server)) skewMs = server - Date.now();
}

export function nowMs(): number {
  return Date.now() + skewMs;
}

const clock = createStore(nowMs, (notify) => {
  let timer = 0;
  // Aim at the second's beginning, so that all countdowns step together.
  function tick() {
    timer = window.setTimeout(tick, 1000 - (nowMs() % 1000) + 5);
    notify();
  }
  tick();
  return () => window.clearTimeout(timer);
});

/** Now, rounded down to `everyMs`: a component asking by the minute is drawn once a minute. */
export function useNow(everyMs = 1000): number {
  return clock.use((now) => Math.floor(now() / everyMs) * everyMs);
}

/** Now, as finely as the distance to `at` deserves: by the second within an hour, else by the minute. */
export function useNowNear(at: number): number {
  return clock.use((now) => {
    const step = Math.abs(at - now()) < 3_660_000 ? 1000 : 60_000;
    return Math.floor(now() / step) * step;
  });
}
