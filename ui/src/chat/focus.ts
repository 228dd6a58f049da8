// Somebody asked to write in a conversation that is not open yet: its composer takes the focus once it is there.
let wanted: string | null = null;

export const focusComposer = (key: string) => {
  wanted = key;
};

/** Say whether the composer of this conversation was asked for; once. */
export function isFocusWanted(key: string): boolean {
  const found = wanted === key;
  if (found) wanted = null;
  return found;
}
