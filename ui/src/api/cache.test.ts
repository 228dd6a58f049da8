import assert from "node:assert/strict";
import { test } from "node:test";
import { beginOf, endOf, merge } from "./cache";
import type { Message } from "./types";

const message = (seq: number, text = "") => ({ seq, text }) as Message;
const seqs = (items: Message[]) => items.map(({ seq }) => seq);

test("messages are merged in order, each once, the newer copy kept", () => {
  const merged = merge([message(1), message(2, "old"), message(4)], [message(2, "new"), message(3)]);
  assert.deepEqual(seqs(merged), [1, 2, 3, 4]);
  assert.equal(merged[1]?.text, "new");
  assert.deepEqual(seqs(merge([], [message(1)])), [1]);
  assert.deepEqual(seqs(merge([message(1)], [message(2)])), [1, 2]);
});

test("a window that is cut says that there is more beyond the cut", () => {
  const window = { items: [1, 2, 3].map((seq) => message(seq)), older: false, newer: false };
  assert.equal(endOf(window, 3), window);
  assert.deepEqual(endOf(window, 2), { items: window.items.slice(1), older: true, newer: false });
  assert.deepEqual(beginOf(window, 2), { items: window.items.slice(0, 2), older: false, newer: true });
});
