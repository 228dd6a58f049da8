// Arguments as a person reads them. They come from the text that the server made visible: what a screen would hide or
// reorder stays spelled as an escape, also where a value is shown by itself.

import { sizeOf } from "../parts/words";

type Value = string | number | boolean | null | Value[] | { [name: string]: Value };
export type Arguments = Record<string, Value>;

/** Read the card's text; null where it is not what the server writes. */
export function readArguments(shown: string): Arguments | null {
  // A line break and a quotation mark are themselves; every other escape stays as it is spelled.
  const kept = shown.replace(/\\(["\\n/]|u[0-9a-fA-F]{4}|.)/g, (spelled, letter: string) =>
    /^["\\n/]$/.test(letter) ? spelled : `\\${spelled}`,
  );
  try {
    const read = JSON.parse(kept) as Value;
    return isObject(read) ? read : null;
  } catch {
    return null;
  }
}

const isObject = (value: Value | undefined): value is Arguments =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A value in a line of its own: a text as it is, anything else as JSON. */
export const valueText = (value: Value): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

export type Package = {
  manager: string;
  name: string;
  version: string;
  bytes: number | null;
  published: string | null;
  fresh: boolean;
  asked: boolean;
};
export type Packages = { packages: Package[]; warnings: string[]; byHand: string | null; removed: string[] };

/** The packages of a lock; null where the arguments have another form, and are shown as they are. */
export function readPackages(args: Arguments): Packages | null {
  const { packages: lines, warnings = [], by_hand: byHand = null, removed = [] } = args;
  if (!areTexts(lines) || !areTexts(warnings) || !areTexts(removed)) return null;
  if (byHand !== null && typeof byHand !== "string") return null;
  const packages = lines.map(readPackage);
  return packages.every((one) => one !== null) ? { packages, warnings, byHand, removed } : null;
}

const areTexts = (value: Value | undefined): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

const LINE =
  /^(?<manager>\S+) (?<name>\S+) (?<version>\S+), (?:size unknown|(?<bytes>\d+) bytes), (?:age unknown|published (?<published>\d{4}-\d\d-\d\d))(?<fresh>, new)?, (?<why>asked for|needed by others)$/;

function readPackage(line: string): Package | null {
  const found = LINE.exec(line)?.groups;
  if (!found) return null;
  const { manager = "", name = "", version = "", bytes, published, fresh, why } = found;
  return {
    manager,
    name,
    version,
    bytes: bytes === undefined ? null : Number(bytes),
    published: published ?? null,
    fresh: fresh !== undefined,
    asked: why === "asked for",
  };
}

/** What all of them weigh, as far as the index tells. */
export function sizeWords(packages: Package[]): string {
  const known = packages.flatMap(({ bytes }) => (bytes === null ? [] : [bytes]));
  if (known.length === 0) return "size unknown";
  const total = sizeOf(known.reduce((sum, bytes) => sum + bytes, 0));
  return `${known.length < packages.length ? "at least " : ""}${total} in all`;
}
