import assert from "node:assert/strict";
import { test } from "node:test";
import { isCalled, piecesOf } from "./palette";

test("a name is found by the beginnings of its words, in any order", () => {
  assert.ok(isCalled("New conversation", "conv new"));
  assert.ok(isCalled("New conversation", ""));
  assert.ok(!isCalled("New conversation", "versation"));
});

test("marks are counted in characters, not in the units of a JavaScript string", () => {
  const words = "🍎🍐 pears";
  assert.deepEqual(piecesOf(words, [[3, 8]]), [
    { text: "🍎🍐 ", hit: false },
    { text: "pears", hit: true },
  ]);
  assert.deepEqual(piecesOf("plain", []), [{ text: "plain", hit: false }]);
});
