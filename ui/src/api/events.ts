// Server-sent events read by fetch: an EventSource cannot send the page's key.
import { KEY, keyOf } from "./key";

/** The server answered, and not with a stream. */
export class NoStream extends Error {
  constructor(readonly status: number) {
    super(`The stream was answered with ${status}.`);
  }
}

/** Hear a stream until it ends or is aborted. Comments, ids and retry times are passed over. */
export async function hear(
  path: string,
  signal: AbortSignal,
  heard: (event: string, data: string) => void,
): Promise<void> {
  const headers = { Accept: "text/event-stream", [KEY]: keyOf() ?? "" };
  const response = await fetch(path, { headers, signal, credentials: "same-origin", cache: "no-store" });
  if (!response.ok || !response.body) throw new NoStream(response.status);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const lines = block.split("\n");
      const of = (field: string) =>
        lines.filter((line) => line.startsWith(field)).map((line) => line.slice(field.length).replace(/^ /, ""));
      const data = of("data:");
      if (data.length === 0) continue;
      try {
        heard(of("event:")[0] ?? "message", data.join("\n"));
      } catch (error) {
        // One that cannot be placed takes no other along.
        reportError(error);
      }
    }
  }
}
