// A file goes up with its progress. XMLHttpRequest, because fetch does not say how much has gone.
import { asProblem, notifySignedOut, Refusal, Unreachable } from "./client";
import { KEY, storedKey } from "./key";
import type { components } from "./schema";

export type KeptFile = components["schemas"]["FileShape"];

type Asked = { idempotencyKey: string; onProgress: (part: number) => void; signal: AbortSignal };

export function uploadFile(file: File, { idempotencyKey, onProgress, signal }: Asked): Promise<KeptFile> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/files");
    request.responseType = "json";
    request.setRequestHeader("Idempotency-Key", idempotencyKey);
    const key = storedKey();
    if (key) request.setRequestHeader(KEY, key);
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onerror = () => reject(new Unreachable());
    request.onabort = () => reject(new DOMException("Removed.", "AbortError"));
    request.onload = () => {
      if (request.status === 201) return resolve(request.response as KeptFile);
      if (request.status === 401) notifySignedOut();
      const { status, statusText } = request;
      const requestId = request.getResponseHeader("X-Request-Id") ?? "";
      reject(new Refusal(asProblem(request.response, { status, statusText, requestId })));
    };
    signal.addEventListener("abort", () => request.abort());
    const form = new FormData();
    form.append("file", file, file.name);
    request.send(form);
  });
}
