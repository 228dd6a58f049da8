// What changed between two answers: words kept, added and taken out, in reading order.

export type Piece = { kind: "same" | "added" | "gone"; text: string };

/** The most cells of the comparison table; longer answers are compared line by line, or else not at all. */
const MOST = 1_000_000;

export function changesOf(before: string, now: string): Piece[] | null {
  if (before === now) return [{ kind: "same", text: now }];
  const words = compare(before.match(/\s+|[^\s]+/g) ?? [], now.match(/\s+|[^\s]+/g) ?? []);
  return words ?? compare(before.match(/[^\n]*\n|[^\n]+/g) ?? [], now.match(/[^\n]*\n|[^\n]+/g) ?? []);
}

function compare(before: string[], now: string[]): Piece[] | null {
  let start = 0;
  while (start < before.length && start < now.length && before[start] === now[start]) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < now.length - start &&
    before[before.length - 1 - end] === now[now.length - 1 - end]
  )
    end += 1;
  const middle = between(before.slice(start, before.length - end), now.slice(start, now.length - end));
  if (!middle) return null;
  const same = (texts: string[]): Piece[] => texts.map((text) => ({ kind: "same", text }));
  return joined([...same(now.slice(0, start)), ...middle, ...same(now.slice(now.length - end))]);
}

/** The longest run of words that both have, in order; everything else was taken out or added. */
function between(before: string[], now: string[]): Piece[] | null {
  const width = now.length + 1;
  if ((before.length + 1) * width > MOST) return null;
  const longest = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number) => longest[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = now.length - 1; j >= 0; j -= 1)
      longest[i * width + j] = before[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const pieces: Piece[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < now.length) {
    if (i < before.length && j < now.length && before[i] === now[j]) {
      pieces.push({ kind: "same", text: now[j] ?? "" });
      i += 1;
      j += 1;
    } else if (i < before.length && (j === now.length || at(i + 1, j) >= at(i, j + 1))) {
      pieces.push({ kind: "gone", text: before[i] ?? "" });
      i += 1;
    } else {
      pieces.push({ kind: "added", text: now[j] ?? "" });
      j += 1;
    }
  }
  return pieces;
}

/** Neighbours of one kind are one piece. */
function joined(pieces: Piece[]): Piece[] {
  const found: Piece[] = [];
  for (const piece of pieces) {
    const last = found.at(-1);
    if (last?.kind === piece.kind) last.text += piece.text;
    else found.push({ ...piece });
  }
  return found;
}
