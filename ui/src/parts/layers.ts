// Which dialog is on top. All else is inert while it is open, so what must stay in reach is drawn inside it.
import { createStore } from "../store";

const dialogs = createStore<readonly HTMLElement[]>([]);

/** Put a dialog on top until the returned function is called. */
export function onTop(dialog: HTMLElement): () => void {
  dialogs.set([...dialogs.get(), dialog]);
  return () => dialogs.set(dialogs.get().filter((other) => other !== dialog));
}

export const useTopLayer = () => dialogs.use((open) => open.at(-1) ?? document.body);
