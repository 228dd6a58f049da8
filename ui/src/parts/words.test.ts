import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "../api/types";
import { askedOf, attentionOf, nameOf, outcomeOf, plainOf, plural, statusOf } from "./words";

const job = (status_words: string, state: object) => ({ status_words, state }) as unknown as Job;

test("an outcome is a state with its reason", () => {
  assert.equal(outcomeOf({ state_words: "OK", reason_words: null }), "OK");
  assert.equal(
    outcomeOf({ state_words: "failed", reason_words: "a tool did not work" }),
    "Failed: a tool did not work",
  );
});

test("a job at work shows that, any other its status", () => {
  assert.equal(statusOf(job("active", { active_run_id: "run", running_at: "2026-11-16T07:00:00Z" })), "Running");
  assert.equal(statusOf(job("active", { active_run_id: "run", running_at: null })), "Waiting");
  assert.equal(statusOf(job("needs you", { active_run_id: null })), "Needs you");
});

test("attention says why: disabled, failed, or not delivered", () => {
  assert.equal(attentionOf(job("attention", { disabled_words: "It was missed." })), "It was missed.");
  assert.equal(attentionOf(job("attention", { disabled_words: null, last_error: "No key." })), "No key.");
  assert.match(attentionOf(job("attention", { disabled_words: null, last_error: null })), /could not be delivered/);
});

test("a scheduled opening shows what the agent was asked, not its first line", () => {
  const opening = {
    role: "user",
    kind: "scheduled",
    text: "Scheduled cron job triggered: fruit\n\nLook.\n\nThen tell me.",
  } as const;
  assert.equal(askedOf(opening), "Look.\n\nThen tell me.");
  assert.equal(askedOf({ ...opening, text: "Scheduled cron job triggered: upkeep" }), "");
});

test("nobody's words are cut because they look like an opening", () => {
  const text = "Scheduled cron job triggered: what does that mean?\n\nPlease explain.";
  assert.equal(askedOf({ role: "user", kind: "chat", text }), text);
  assert.equal(askedOf({ role: "assistant", kind: "scheduled", text }), text);
});

test("a preview drops the signs of Markdown and the offline mark, and keeps names with underscores", () => {
  assert.equal(plainOf("Offline mode (not an AI): **Done**, see `job_ab_c` and _this_"), "Done, see job_ab_c and this");
});

test("a count has its noun in the right number", () => {
  assert.equal(plural(1, "run"), "1 run");
  assert.equal(plural(12_000, "run"), "12,000 runs");
  assert.equal(plural(2, "more", "more"), "2 more");
});

test("a conversation is called as one's own list says, unless what names it has no title", () => {
  assert.equal(nameOf("web:a", undefined, "Mine"), "Mine");
  assert.equal(nameOf("web:a", "Older", "Mine"), "Mine");
  assert.equal(nameOf("web:a", "Given", ""), "Given");
  assert.equal(nameOf("web:a", undefined, ""), undefined);
  assert.equal(nameOf("web:a", null, "Mine"), "web:a");
});
