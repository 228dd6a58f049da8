// Files that will go with the next message. Each goes up at once, and stays here when one looks at another conversation.
import { randomKey, sentenceOf, Unreachable } from "../api/client";
import { nextHello } from "../api/live";
import { type KeptFile, uploadFile } from "../api/upload";
import { sizeOf } from "../parts/words";
import { createStore } from "../store";

export const MOST_FILES = 10;
const LARGEST = 25 * 1024 * 1024;

export type Attachment = {
  id: string; // also the Idempotency-Key: sending it again cannot double it
  name: string;
  size: number;
  state: "uploading" | "unreachable" | "kept" | "failed";
  part: number;
  kept: KeptFile | null;
  error: string | null;
  again: boolean; // another try may help
};

const NONE: readonly Attachment[] = [];
const lists = createStore<ReadonlyMap<string, readonly Attachment[]>>(new Map());
const sources = new Map<string, { file: File; stop: AbortController }>();
const listOf = (draft: string) => lists.get().get(draft) ?? NONE;

function set(draft: string, next: readonly Attachment[]) {
  lists.set(new Map(lists.get()).set(draft, next));
}

/** Wherever it is by now: it may have gone along into another draft. */
function change(id: string, changes: Partial<Attachment>) {
  for (const [draft, list] of lists.get())
    if (list.some((one) => one.id === id))
      set(
        draft,
        list.map((one) => (one.id === id ? { ...one, ...changes } : one)),
      );
}

export const useAttachments = (draft: string) => lists.use((all) => all.get(draft) ?? NONE);

/** What cannot be sent is said at once, before anything goes up. */
export function whyNot(file: { size: number; isFolder?: boolean }): string | null {
  if (file.isFolder) return "This is a folder. Add the files in it.";
  if (file.size === 0) return "This file is empty.";
  if (file.size > LARGEST) return `This file has ${sizeOf(file.size)}; the most is 25 MB (26.2 million bytes).`;
  return null;
}

/** Add files; says how many were left out because a message has enough. */
export function attach(draft: string, files: readonly (File & { isFolder?: boolean })[]): number {
  const room = MOST_FILES - listOf(draft).length;
  for (const file of files.slice(0, Math.max(0, room))) {
    const error = whyNot(file);
    const one: Attachment = {
      id: randomKey(),
      name: file.name,
      size: file.size,
      state: error ? "failed" : "uploading",
      part: 0,
      kept: null,
      error,
      again: false,
    };
    set(draft, [...listOf(draft), one]);
    if (error) continue;
    sources.set(one.id, { file, stop: new AbortController() });
    void carry(one.id);
  }
  return Math.max(0, files.length - room);
}

export function detach(draft: string, id: string) {
  sources.get(id)?.stop.abort();
  sources.delete(id);
  set(
    draft,
    listOf(draft).filter((one) => one.id !== id),
  );
}

export function detachAll(draft: string) {
  for (const one of listOf(draft)) sources.delete(one.id);
  set(draft, NONE);
}

/** What was added goes along into the conversation that was just made. */
export function moveAttachments(from: string, to: string) {
  const moved = listOf(from);
  if (moved.length === 0) return;
  set(to, [...listOf(to), ...moved]);
  set(from, NONE);
}

export function attachAgain(id: string) {
  change(id, { state: "uploading", part: 0, error: null });
  void carry(id);
}

/** Send it up until the server takes or refuses it. While it is away, each return of the stream is another try. */
async function carry(id: string) {
  for (;;) {
    const source = sources.get(id);
    if (!source) return;
    try {
      const kept = await uploadFile(source.file, {
        idempotencyKey: id,
        signal: source.stop.signal,
        onProgress: (part) => change(id, { part }),
      });
      return change(id, { state: "kept", part: 1, kept });
    } catch (error) {
      if (source.stop.signal.aborted) return;
      if (!(error instanceof Unreachable))
        return change(id, { state: "failed", error: sentenceOf(error), again: true });
      if (!(await isReadable(source.file)))
        return change(id, { state: "failed", error: "This file cannot be read any more. Add it again." });
      change(id, { state: "unreachable", part: 0 });
      await nextHello();
      if (sources.has(id)) change(id, { state: "uploading" });
    }
  }
}

/** A file that was changed or deleted after it was chosen fails as a dead server does. */
async function isReadable(file: File): Promise<boolean> {
  try {
    await file.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
