import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, emptyForm, unreadable, valuesOf } from "./serverDraft";

test("a program is asked for with its arguments, variables and hosts, one per line", () => {
  const form = {
    ...emptyForm,
    name: " time ",
    command: "/opt/time",
    args: "--zone\nUTC 1\n\n",
    hosts: "a.org\n\n b.org",
  };
  assert.deepEqual(asked(form), {
    name: "time",
    command: "/opt/time",
    args: ["--zone", "UTC 1"],
    env: {},
    hosts: ["a.org", "b.org"],
  });
});

test("a server over HTTP has headers, and nothing of a program", () => {
  const form = {
    ...emptyForm,
    name: "web",
    kind: "http" as const,
    url: "https://a.org/mcp",
    values: "X=1",
    policy: "ask" as const,
  };
  assert.deepEqual(asked(form), { name: "web", url: "https://a.org/mcp", headers: { X: "1" }, policy: "ask" });
});

test("secrets are given by name, and a line that cannot be read is named", () => {
  assert.deepEqual(valuesOf("KEY=secret:TOKEN\nWORD=a=b"), { KEY: { secret: "TOKEN" }, WORD: "a=b" });
  assert.equal(unreadable("A=1\nnonsense"), "nonsense");
  assert.equal(unreadable("=x"), "=x");
  assert.equal(unreadable(""), null);
});
