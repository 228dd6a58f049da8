import assert from "node:assert/strict";
import { test } from "node:test";
import { sizeOf } from "../parts/words";
import { readArguments, readPackages, sizeWords, valueText } from "./readArguments";

test("what the server spelled as an escape stays one, and nothing else changes", () => {
  const shown = String.raw`{"text": "a\u202eb\u001b[31m \"q\" c:\\new\nline\ttab \\u202e"}`;
  const read = readArguments(shown);
  assert.equal(read?.text, 'a\\u202eb\\u001b[31m "q" c:\\new\nline\\ttab \\u202e');
});

test("what is not an object, or no JSON, is not read", () => {
  assert.equal(readArguments("[1]"), null);
  assert.equal(readArguments('{"a": '), null);
});

test("values are shown whole", () => {
  assert.equal(valueText("<b>&amp;"), "<b>&amp;");
  assert.equal(valueText({ secret: "TOKEN" }), '{\n  "secret": "TOKEN"\n}');
});

const LINE = "pip pandas 3.0.1, 1500 bytes, published 2026-10-01, new, asked for";
const one = {
  manager: "pip",
  name: "pandas",
  version: "3.0.1",
  bytes: 1500,
  published: "2026-10-01",
  fresh: true,
  asked: true,
};

test("packages are read only in the form that the table knows", () => {
  const other = "npm @types/node 22.1.0, size unknown, age unknown, needed by others";
  assert.deepEqual(readPackages({ packages: [LINE, other], warnings: ["Young."], by_hand: "sudo apt install jq" }), {
    packages: [
      one,
      {
        ...one,
        manager: "npm",
        name: "@types/node",
        version: "22.1.0",
        bytes: null,
        published: null,
        fresh: false,
        asked: false,
      },
    ],
    warnings: ["Young."],
    byHand: "sudo apt install jq",
    removed: [],
  });
  assert.equal(readPackages({ packages: [`${LINE} and more`] }), null);
  assert.equal(readPackages({ packages: [LINE, 7] }), null);
  assert.equal(readPackages({ packages: [LINE], warnings: "none" }), null);
  assert.equal(readPackages({ pip: ["a"] }), null);
});

test("sizes are told in their unit, and added up as far as they are known", () => {
  assert.equal(sizeWords([one, one]), "3 kB in all");
  assert.equal(sizeWords([one, one, { ...one, bytes: null }]), "at least 3 kB in all");
  assert.equal(sizeWords([{ ...one, bytes: null }]), "size unknown");
  assert.deepEqual(
    [sizeOf(null), sizeOf(999), sizeOf(1500), sizeOf(2_300_000)],
    ["unknown", "999 B", "2 kB", "2.3 MB"],
  );
});
