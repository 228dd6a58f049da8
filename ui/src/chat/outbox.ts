// Messages on their way to the server. Each stays here until the transcript has it, so that none is ever seen to vanish.
import { randomKey, sentenceOf, Unreachable } from "../api/client";
import { nextHello } from "../api/live";
import { sendMessage } from "../api/operations";
import type { KeptFile } from "../api/upload";
import { createStore } from "../store";

export type Outgoing = {
  id: string; // also the Idempotency-Key: sending it again cannot double it
  text: string;
  files: readonly KeptFile[];
  mode: "inject" | "queue";
  sentAt: number;
  state: "sending" | "unreachable" | "taken" | "refused";
  inboundId: string | null;
  will: "start" | "inject" | "queue" | null;
  error: string | null;
};

const NONE: readonly Outgoing[] = [];
const boxes = createStore<ReadonlyMap<string, readonly Outgoing[]>>(new Map());
const boxOf = (key: string) => boxes.get().get(key) ?? NONE;

function set(key: string, next: readonly Outgoing[]) {
  boxes.set(new Map(boxes.get()).set(key, next));
}

function change(key: string, id: string, changes: Partial<Outgoing>) {
  const changed = boxOf(key).map((one) => (one.id === id ? { ...one, ...changes } : one));
  set(key, changed);
}

export const useOutbox = (key: string) => boxes.use((all) => all.get(key) ?? NONE);

/** An id of one's own makes it a thing that is sent once, however often it is asked for. */
export function post(
  key: string,
  text: string,
  mode: "inject" | "queue",
  { id = randomKey(), files = [] }: { id?: string; files?: readonly KeptFile[] } = {},
): Promise<boolean> {
  const before = boxOf(key).find((one) => one.id === id);
  if (before) return before.state === "refused" ? postAgain(key, before) : Promise.resolve(true);
  const one: Outgoing = {
    id,
    text,
    files,
    mode,
    sentAt: Date.now(),
    state: "sending",
    inboundId: null,
    will: null,
    error: null,
  };
  set(key, [...boxOf(key), one]);
  return carry(key, one);
}

export function postAgain(key: string, one: Outgoing): Promise<boolean> {
  change(key, one.id, { state: "sending", error: null });
  return carry(key, one);
}

export function drop(key: string, ids: ReadonlySet<string>) {
  const have = boxOf(key);
  const left = have.filter((one) => !ids.has(one.id));
  if (left.length < have.length) set(key, left);
}

const isDropped = (key: string, id: string) => !boxOf(key).some((one) => one.id === id);

/** Send until the server takes or refuses it. While it is away, each return of the stream is another try. */
async function carry(key: string, { id, text, files, mode }: Outgoing): Promise<boolean> {
  while (!isDropped(key, id)) {
    try {
      const taken = await sendMessage(key, { text, mode, files: files.map((file) => file.id) }, id);
      change(key, id, { state: "taken", inboundId: taken.inbound_id, will: "will" in taken ? taken.will : "start" });
      return true;
    } catch (error) {
      if (!(error instanceof Unreachable)) {
        change(key, id, { state: "refused", error: sentenceOf(error) });
        return false;
      }
      change(key, id, { state: "unreachable", error: null });
      await nextHello();
    }
  }
  return false;
}
