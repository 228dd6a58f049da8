// One typed client for the whole page. Everything the server refuses arrives as a `Refusal`, with its sentence.
import createClient from "openapi-fetch";
import { createStore } from "../store";
import { afterHello } from "./greeting";
import { KEY, storedKey } from "./key";
import type { paths } from "./schema";
import type { FieldError, Problem } from "./types";

export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
  }

  get status() {
    return this.problem.status;
  }

  get code() {
    return this.problem.code;
  }

  get fields(): FieldError[] {
    return this.problem.errors;
  }
}

/** The server did not answer at all: a dead process, a cable, a sleeping laptop. */
export class Unreachable extends Error {
  constructor() {
    super("The server does not answer. Is `homing up` running?");
  }
}

export const api = createClient<paths>({ baseUrl: "", credentials: "same-origin" });

export const { subscribe: onSignedOut, notify: notifySignedOut } = createStore(null);

api.use({
  async onRequest({ request }) {
    if (request.method === "GET") await afterHello();
    const key = storedKey();
    if (key) request.headers.set(KEY, key);
    if (request.method === "POST" && !request.headers.has("Idempotency-Key"))
      request.headers.set("Idempotency-Key", randomKey());
    return request;
  },
  onError() {
    return new Unreachable();
  },
});

/** The answer's body, or the refusal thrown. */
export async function unwrap<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call;
  if (response.ok) return data as T;
  if (response.status === 401) notifySignedOut();
  const { status, statusText } = response;
  throw new Refusal(asProblem(error, { status, statusText, requestId: response.headers.get("X-Request-Id") ?? "" }));
}

type Answer = { status: number; statusText: string; requestId: string };

export function asProblem(error: unknown, response: Answer): Problem {
  if (error && typeof error === "object" && "code" in error) return { ...(error as Problem), status: response.status };
  const gateway = response.status === 502 || response.status === 503 || response.status === 504;
  const detail = gateway
    ? "The server is not ready yet. Try again in a moment."
    : `The server answered ${response.status} without saying why.`;
  return {
    type: "about:blank",
    code: gateway ? "not_ready" : "internal",
    title: response.statusText,
    status: response.status,
    detail,
    errors: [],
    request_id: response.requestId,
  };
}

/** Random, and also there on plain http in a home network, where crypto.randomUUID is not. */
export function randomKey(bytes = 16): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
}

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : "Something went wrong.";
}
