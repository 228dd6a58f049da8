// What Ctrl-K offers before anything is asked of the server.
import { showShortcuts } from "../keyboard";
import type { IconName } from "../parts/Icon";
import { places } from "../places";
import { navigate } from "../router";

/** The server reads no more than this of what is looked for. */
export const LONGEST = 1000;
/** Names are shorter than this; only the full search is asked for more. */
export const LONGEST_NAME = 128;

export type Command = { name: string; icon: IconName; run: () => void };

const goTo = (name: string, icon: IconName, to: string): Command => ({ name, icon, run: () => navigate(to) });

export const commands: Command[] = [
  ...places.map(({ name, icon, to }) => goTo(name, icon, to)),
  goTo("Approvals", "approve", "/approvals"),
  goTo("Usage and cost", "report", "/usage"),
  goTo("New conversation", "plus", "/chat"),
  goTo("New automation", "plus", "/automations/new"),
  goTo("New agent", "plus", "/agents/new"),
  { name: "Keyboard shortcuts", icon: "keyboard", run: () => showShortcuts(true) },
];

const wordsOf = (text: string) => text.toLowerCase().split(/\s+/).filter(Boolean);

/** Every word that was typed begins a word of the name. */
export function isCalled(name: string, typed: string): boolean {
  const words = wordsOf(name);
  return wordsOf(typed).every((begun) => words.some((word) => word.startsWith(begun)));
}

/** Cut a text at its marks. They are counted in characters, of which one may be two units of a JavaScript string. */
export function piecesOf(words: string, marks: readonly (readonly number[])[]): { text: string; hit: boolean }[] {
  const signs = Array.from(words);
  const pieces: { text: string; hit: boolean }[] = [];
  let from = 0;
  const put = (to: number, hit: boolean) => {
    if (to > from) pieces.push({ text: signs.slice(from, to).join(""), hit });
    from = Math.max(from, to);
  };
  for (const [start = 0, end = 0] of marks) {
    put(start, false);
    put(end, true);
  }
  put(signs.length, false);
  return pieces;
}
