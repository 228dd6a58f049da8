// State outside of React. A component that reads it with `use` is drawn again when what it read has changed.
import { useSyncExternalStore } from "react";

/** `start` runs when the first listener comes; what it returns runs when the last one has left. */
export function createStore<T>(value: T, start?: (notify: () => void) => () => void) {
  const listeners = new Set<() => void>();
  let stop: (() => void) | undefined;

  /** `set` calls it; call it yourself after changing the value in place. */
  function notify() {
    for (const listener of listeners) listener();
  }

  function subscribe(listener: () => void) {
    if (listeners.size === 0) stop = start?.(notify);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) stop?.();
    };
  }

  function set(next: T) {
    if (Object.is(value, next)) return;
    value = next;
    notify();
  }

  const get = () => value;
  const use = <S>(read: (value: T) => S): S => useSyncExternalStore(subscribe, () => read(value));
  return { get, set, notify, subscribe, use };
}
