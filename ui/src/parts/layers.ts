// Which dialog is on top. All else is inert while it is open, so what must stay in reach is drawn inside it.
import { useSyncExternalStore } from "react";

let open: readonly HTMLElement[] = [];
const listeners = new Set<() => void>();

function set(next: readonly HTMLElement[]) {
  open = next;
  for (const listener of listeners) listener();
}

/** Put a dialog on top until the returned function is called. */
export function onTop(dialog: HTMLElement): () => void {
  set([...open, dialog]);
  return () => set(open.filter((other) => other !== dialog));
}

export const useTopLayer = () =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => open.at(-1) ?? document.body,
  );
