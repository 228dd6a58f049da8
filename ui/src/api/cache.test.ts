import assert from "node:assert/strict";
import { test } from "node:test";
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { beginOf, endOf, isOlder, keys, merge, placeSession } from "./cache";
import type { Approval, Message, Session } from "./types";

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

const approval = (state: Approval["state"], finished_at: string | null = null) => ({ state, finished_at }) as Approval;

test("what is told late never opens an answered approval again, nor an ended one", () => {
  assert.equal(isOlder(approval("pending"), approval("approved")), true);
  assert.equal(isOlder(approval("running"), approval("done", "2026-11-17T12:00:00Z")), true);
  assert.equal(isOlder(approval("done", "2026-11-17T12:00:00Z"), approval("running")), false);
  // A worker that stops hands what it can repeat back.
  assert.equal(isOlder(approval("approved"), approval("running")), false);
  assert.equal(isOlder(approval("pending"), approval("pending")), false);
});

test("a list of conversations that was read before one changed does not undo the change", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  Object.assign(globalThis, { window: globalThis });
  const settled = () => new Promise(setImmediate);
  const session = (unread: number) => ({ key: "web:desk", unread, deleted_at: null, created_at: "" }) as Session;
  const listed = (unread: number) => ({ pages: [{ items: [session(unread)] }], pageParams: [undefined] });
  const client = new QueryClient();
  const answers: ((unread: number) => void)[] = [];
  const list = new QueryObserver<ReturnType<typeof listed>>(client, {
    queryKey: [...keys.sessions, ""],
    queryFn: () => new Promise((resolve) => answers.push((unread) => resolve(listed(unread)))),
    initialData: listed(1),
  });
  const unread = () => list.getCurrentQuery().state.data?.pages[0]?.items[0]?.unread;
  t.after(list.subscribe(() => {}));
  t.after(() => client.clear());

  placeSession(client, session(0));
  assert.equal(unread(), 0);
  // The server read it before the change, and it comes after it.
  answers[0]?.(1);
  await settled();
  t.mock.timers.tick(1000);
  await settled();
  answers[1]?.(0);
  await settled();
  assert.deepEqual([answers.length, unread()], [2, 0]);
});
