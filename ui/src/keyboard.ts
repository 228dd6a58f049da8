// The keys of the page. A key never fires while somebody types, nor while a dialog is open.
import { useEffect } from "react";
import { navigate } from "./router";
import { createStore } from "./store";

export const shortcuts: [keys: string, does: string][] = [
  ["?", "This list"],
  ["Ctrl K", "Search everything, or go anywhere"],
  ["/", "Search this page, or everything"],
  ["n", "New conversation, or new automation on that page"],
  ["g c", "Go to chat"],
  ["g i", "Go to the inbox"],
  ["g a", "Go to automations"],
  ["g w", "Go to the week"],
  ["g e", "Go to agents"],
  ["g d", "Go to deliveries"],
  ["g s", "Go to settings"],
  ["i", "Write a message"],
  ["Enter", "Send"],
  ["Shift Enter", "New line"],
  ["Esc", "Close, or leave the field"],
];

const places: Record<string, string> = {
  c: "/",
  i: "/inbox",
  a: "/automations",
  w: "/week",
  e: "/agents",
  d: "/deliveries",
  s: "/settings",
};

const listShown = createStore(false);
export const showShortcuts = listShown.set;
export const useShortcutsShown = () => listShown.use((shown) => shown);

const paletteShown = createStore(false);
export const showPalette = paletteShown.set;
export const usePaletteShown = () => paletteShown.use((shown) => shown);

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Ctrl-K, or Cmd-K on a Mac; it works while one types. */
const isPaletteKey = (event: KeyboardEvent) =>
  (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";

const isModal = () => document.querySelector("dialog[open]") !== null;

const GO_MS = 1200;

export function useKeyboard() {
  useEffect(() => {
    let goUntil = 0;

    function onKey(event: KeyboardEvent) {
      if (event.key === "Escape" && isTyping(event.target) && !event.isComposing)
        return (event.target as HTMLElement).blur();
      if (isPaletteKey(event) && !isModal()) return act(event, () => showPalette(true));
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || isModal()) return;
      const going = performance.now() < goUntil;
      goUntil = 0;
      if (going && places[event.key]) return act(event, () => navigate(places[event.key] ?? "/"));
      if (event.key === "g") goUntil = performance.now() + GO_MS;
      else if (event.key === "?") act(event, () => showShortcuts(true));
      else if (event.key === "/") act(event, () => focusOn("[data-search]") || showPalette(true));
      else if (event.key === "i") act(event, () => focusOn("[data-composer]"));
      else if (event.key === "n")
        act(event, () => navigate(location.pathname.startsWith("/automations") ? "/automations/new" : "/chat"));
    }

    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

function act(event: KeyboardEvent, action: () => void) {
  event.preventDefault();
  action();
}

/** Focus the first that is in sight; say whether there is one. */
function focusOn(selector: string): boolean {
  const all = [...document.querySelectorAll<HTMLElement>(selector)];
  const found = all.find((element) => element.offsetParent !== null);
  found?.focus();
  return found !== undefined;
}
