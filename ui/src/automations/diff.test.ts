import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf, type Piece } from "./diff";

const spelled = (pieces: Piece[] | null) =>
  pieces?.map(({ kind, text }) => (kind === "same" ? text : kind === "added" ? `+[${text}]` : `-[${text}]`)).join("");

test("words that changed are shown where they stood", () => {
  assert.equal(
    spelled(changesOf("Apples cost 2.29 today.", "Apples cost 2.49 today.")),
    "Apples cost -[2.29]+[2.49] today.",
  );
  assert.equal(spelled(changesOf("One line", "One line\nand another")), "One line+[\nand another]");
  assert.equal(spelled(changesOf("Pears are cheap.", "")), "-[Pears are cheap.]");
});

test("an equal answer has one piece", () => {
  assert.deepEqual(changesOf("Nothing new.", "Nothing new."), [{ kind: "same", text: "Nothing new." }]);
});

test("both answers can be read out of the pieces", () => {
  const before = "alpha beta\ngamma  delta\nend";
  const now = "beta\ngamma x delta\n\nend!";
  const pieces = changesOf(before, now) ?? [];
  const without = (kind: Piece["kind"]) =>
    pieces
      .filter((piece) => piece.kind !== kind)
      .map((piece) => piece.text)
      .join("");
  assert.equal(without("gone"), now);
  assert.equal(without("added"), before);
});

test("long answers are compared by lines, and endless ones not at all", () => {
  const lines = (word: string) =>
    Array.from({ length: 500 }, (_, n) => `${word} of line number ${n} is here`).join("\n");
  const pieces = changesOf(`${lines("a")}\nsame`, `${lines("b")}\nsame`);
  assert.ok(pieces?.every(({ text }) => text.endsWith("\n") || text.endsWith("same")));
  const words = (word: string) => Array.from({ length: 2000 }, (_, n) => `${word}${n}`).join("\n");
  assert.equal(changesOf(words("a"), words("b")), null);
});
