import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentTool } from "../api/types";
import { changedFields, emptyDefinition, pick, policyOf, withPolicy, wordsOf } from "./draft";

const tool = (name: string, policy: AgentTool["policy"] = "allow"): AgentTool => ({
  name,
  policy,
  default: policy,
  policies: ["allow", "ask", "deny"],
  state: "offered",
  why: null,
});
const base = { ...emptyDefinition, name: "Scout", tools: { fetch_url: "allow", recall: "deny" } as const };

test("only what differs is changed, whatever the order of tools", () => {
  assert.deepEqual(changedFields(base, { ...base, tools: { recall: "deny", fetch_url: "allow" } }), []);
  const edited = { ...base, model: "offline", hosts: ["example.org"] };
  assert.deepEqual(changedFields(base, edited), ["model", "hosts"]);
  assert.deepEqual(pick(edited, changedFields(base, edited)), { model: "offline", hosts: ["example.org"] });
});

test("a tool that is not named is denied, and the defaults count where none is", () => {
  assert.equal(policyOf(tool("recall"), base.tools), "deny");
  assert.equal(policyOf(tool("run_command"), base.tools), "deny");
  assert.equal(policyOf(tool("run_command"), null), "allow");
});

test("choosing for one tool names all of them", () => {
  const tools = [tool("recall"), tool("fetch_url"), tool("cron", "deny")];
  assert.deepEqual(withPolicy(tools, null, "recall", "deny"), { recall: "deny", fetch_url: "allow", cron: "deny" });
  assert.deepEqual(withPolicy(tools, { recall: "deny" }, "recall", "allow"), { recall: "allow" });
});

test("a value is told in words", () => {
  assert.equal(wordsOf("model", base), "the server’s");
  assert.equal(wordsOf("tools", { ...base, tools: null }), "the defaults");
  assert.equal(wordsOf("tools", base), "fetch_url allowed");
  assert.equal(wordsOf("tools", { ...base, tools: { a: "ask", b: "deny" } }), "a asking first");
  assert.equal(wordsOf("hosts", base), "none");
  assert.equal(wordsOf("heartbeat", base), "the server’s");
  const heartbeat = { ...base.heartbeat, minutes: 30, checklist: "- look" };
  assert.equal(wordsOf("heartbeat", { ...base, heartbeat }), "every 30 minutes, - look");
  assert.deepEqual(changedFields(base, { ...base, heartbeat }), ["heartbeat"]);
});
