import assert from "node:assert/strict";
import { test } from "node:test";
import { createStore } from "./store";

test("listeners hear of a new value, and of the same value nothing", () => {
  const store = createStore(1);
  const heard: number[] = [];
  const leave = store.subscribe(() => heard.push(store.get()));
  store.set(2);
  store.set(2);
  leave();
  store.set(3);
  assert.deepEqual(heard, [2]);
  assert.equal(store.get(), 3);
});

test("what feeds a store runs only while somebody listens", () => {
  const log: string[] = [];
  const store = createStore("value", () => {
    log.push("start");
    return () => log.push("stop");
  });
  const leaveFirst = store.subscribe(() => undefined);
  const leaveSecond = store.subscribe(() => undefined);
  leaveFirst();
  assert.deepEqual(log, ["start"]);
  leaveSecond();
  store.subscribe(() => undefined);
  assert.deepEqual(log, ["start", "stop", "start"]);
});
