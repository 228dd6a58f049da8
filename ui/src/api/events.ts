// Server-sent events read by fetch: an EventSource cannot send the page's key.
import { KEY, storedKey } from "./key";

/** The server did not answer with a stream. */
export class StreamRefused extends Error {
  constructor(readonly status: number) {
    super(`The stream was answered with ${status}.`);
  }
}

/** Read a stream until it ends or is aborted. Comments, ids and retry times are ignored. */
export async function readEvents(
  path: string,
  signal: AbortSignal,
  onEvent: (event: string, data: string) => void,
): Promise<void> {
  const headers = { Accept: "text/event-stream", [KEY]: storedKey() ?? "" };
  const response = await fetch(path, { headers, signal, credentials: "same-origin", cache: "no-store" });
  if (!response.ok || !response.body) throw new StreamRefused(response.status);
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
        onEvent(of("event:")[0] ?? "message", data.join("\n"));
      } catch (error) {
        // One bad event must not end the stream.
        reportError(error);
      }
    }
  }
}
