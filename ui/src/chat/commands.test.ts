import assert from "node:assert/strict";
import { test } from "node:test";
import { commandsFor } from "./commands";

const names = (text: string, here = true) => commandsFor(text, here)?.map(({ name }) => name) ?? null;

test("a slash offers what works here, and letters choose among it", () => {
  assert.deepEqual(names("/", false), ["new", "remind"]);
  assert.ok(names("/")?.includes("archive"));
  assert.deepEqual(names("/P"), ["pin", "print"]);
});

test("a path, a fraction or a sentence is no command", () => {
  for (const text of ["/usr/bin", "1/2", " /new", "/new york", "/zzz", ""]) assert.equal(names(text), null);
});
