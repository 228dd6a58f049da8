// The one stream of a tab. It places what arrives, keeps the text of answers in progress, and knows the state of the connection.
import type { QueryClient } from "@tanstack/react-query";
import { createStore } from "../store";
import { nowMs, setServerTime } from "../time/clock";
import {
  keys,
  placeApproval,
  placeDelivery,
  placeJob,
  placeMessage,
  placeQuestion,
  placeRun,
  placeSession,
  refetchSoon,
} from "./cache";
import { notifySignedOut } from "./client";
import { readEvents, StreamRefused } from "./events";
import { helloCame } from "./greeting";
import type { Approval, Delivery, Job, Message, Question, Run, Session } from "./types";

export type Connection = "connecting" | "live" | "lost";
export type LiveStep = {
  n: number;
  kind: "model" | "tool";
  name: string;
  state: "started" | "finished";
  duration_ms: number | null;
  about: string;
  failed: boolean;
};
/** A model call that failed and is made again after a wait. */
export type LiveRetry = { n: number; until: number; why: string };
export type LiveTurn = {
  turnId: string;
  attempt: number;
  text: string;
  steps: LiveStep[];
  retry: LiveRetry | null;
  /** Its closing has come; the text stays until the transcript has it. */
  closed?: true;
};

type TextEvent = { session_key: string; turn_id: string; attempt: number; n: number; text: string; whole: boolean };
type StepEvent = LiveStep & { session_key: string; turn_id: string };
type RetryEvent = { session_key: string; turn_id: string; n: number; wait_seconds: number; why: string };

const connection = createStore<Connection>("connecting");
const liveTurns = createStore(new Map<string, LiveTurn>());
const turns = liveTurns.get();
const arrivals = new Set<(message: Message) => void>();
const greetings = new Set<() => void>();

export const useConnection = () => connection.use((state) => state);
export const useLiveTurn = (key: string) => liveTurns.use((all) => all.get(key));

/** Hear of each message as it comes in over the stream (not of those fetched). */
export function onArrival(listener: (message: Message) => void) {
  arrivals.add(listener);
  return () => void arrivals.delete(listener);
}

const RETRY_MS = 10_000;

/** Wait until the server greets this tab again, or for a while where the stream itself was never lost. */
export function nextHello(): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      window.clearTimeout(timer);
      greetings.delete(done);
      resolve();
    };
    const timer = window.setTimeout(done, RETRY_MS);
    greetings.add(done);
  });
}

// Text comes in many small pieces; the screen is drawn once per frame.
let frame = 0;
function notifySoon() {
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    liveTurns.notify();
  });
}

function turnOf(event: { session_key: string; turn_id: string }, attempt: number): LiveTurn {
  const have = turns.get(event.session_key);
  return have?.turnId === event.turn_id ? have : { turnId: event.turn_id, attempt, text: "", steps: [], retry: null };
}

// Live pieces and rows travel apart: a piece may come after the closing it belongs to, and must not bring it back.
const closed = new Set<string>();
const MOST_CLOSED = 200;

function close(key: string, turnId: string) {
  closed.add(turnId);
  if (closed.size > MOST_CLOSED) closed.delete(closed.values().next().value ?? "");
  const live = turns.get(key);
  if (live?.turnId !== turnId) return;
  // The transcript shows its text until the record has the closing: with neither, the log would be short for a moment,
  // and the reader's place lost.
  const over = { ...live, closed: true as const };
  turns.set(key, over);
  forget(key, over);
}

const SILENCE_MS = 5000;

/** Drop a live turn unless something more of it comes. */
function forget(key: string, live: LiveTurn) {
  window.setTimeout(() => {
    if (turns.get(key) !== live) return;
    turns.delete(key);
    liveTurns.notify();
  }, SILENCE_MS);
}

function onText(event: TextEvent) {
  if (closed.has(event.turn_id)) return;
  const turn = turnOf(event, event.attempt);
  const fresh = event.whole || event.attempt !== turn.attempt;
  const text = fresh ? event.text : turn.text + event.text;
  turns.set(event.session_key, { ...turn, attempt: event.attempt, text, retry: null });
  notifySoon();
}

function onStep(event: StepEvent) {
  if (closed.has(event.turn_id)) return;
  const turn = turnOf(event, 1);
  const steps = [...turn.steps.filter((step) => step.n !== event.n || step.kind !== event.kind), event];
  // Text before a tool call is not the answer yet, but it is what the person reads: keep it until new text comes.
  turns.set(event.session_key, { ...turn, steps, retry: null });
  notifySoon();
}

function onRetry(event: RetryEvent) {
  if (closed.has(event.turn_id)) return;
  const retry = { n: event.n, until: nowMs() + event.wait_seconds * 1000, why: event.why };
  turns.set(event.session_key, { ...turnOf(event, 1), retry });
  notifySoon();
}

function onMessage(client: QueryClient, message: Message) {
  placeMessage(client, message);
  // The closing is what counts: from here on it stands in the transcript, and the live text goes.
  if (message.role === "assistant" && message.turn_id) close(message.session_key, message.turn_id);
  for (const listener of arrivals) listener(message);
  notifySoon();
}

function onSession(client: QueryClient, session: Session) {
  placeSession(client, session);
  const live = turns.get(session.key);
  if (!live || session.turn?.id === live.turnId) return;
  // Another turn, or none. The row may have been read before this one opened, so silence must confirm it.
  forget(session.key, live);
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;
const NAP_MS = 40_000;

/** Hold the stream open until the returned function is called. */
export function connect(client: QueryClient): () => void {
  let stream: AbortController | undefined;
  let retry: number | undefined;
  let waitMs = FIRST_WAIT_MS;
  let greeted = false;
  let awakeAt = Date.now();

  const placed: Record<string, (data: string) => void> = {};
  const on = <T>(noun: string, place: (object: T) => void) => (placed[noun] = (data) => place(JSON.parse(data) as T));
  on<{ server_time: string; resumed: boolean }>("hello", (hello) => {
    waitMs = FIRST_WAIT_MS;
    setServerTime(hello.server_time);
    turns.clear();
    liveTurns.notify();
    connection.set("live");
    helloCame();
    for (const greet of [...greetings]) greet();
    if (!hello.resumed)
      void client.invalidateQueries({ predicate: (query) => (!greeted ? query.state.data !== undefined : true) });
    greeted = true;
  });
  on<Message>("message", (message) => onMessage(client, message));
  on<Session>("session", (session) => onSession(client, session));
  on<Job>("job", (job) => placeJob(client, job));
  on<Run>("run", (run) => placeRun(client, run));
  on<Delivery>("delivery", (delivery) => placeDelivery(client, delivery));
  on<Approval>("approval", (approval) => placeApproval(client, approval));
  on<Question>("question", (question) => placeQuestion(client, question));
  on("inbox", () => refetchSoon(client, keys.inbox));
  on("agents", () => refetchSoon(client, keys.agents));
  on<TextEvent>("text", onText);
  on<StepEvent>("step", onStep);
  on<RetryEvent>("retry", onRetry);

  function open() {
    window.clearTimeout(retry);
    stream?.abort();
    stream = new AbortController();
    const { signal } = stream;
    readEvents("/api/events", signal, (noun, data) => placed[noun]?.(data)).then(
      () => lost(signal),
      (error: unknown) => {
        helloCame();
        if (error instanceof StreamRefused && error.status === 401 && !signal.aborted) notifySignedOut();
        else lost(signal);
      },
    );
  }

  function lost(signal: AbortSignal) {
    if (signal.aborted) return;
    connection.set("lost");
    window.clearTimeout(retry);
    retry = window.setTimeout(open, waitMs);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }

  /** After sleep the connection may be dead without an error. */
  const watch = window.setInterval(() => {
    const slept = Date.now() - awakeAt > NAP_MS;
    awakeAt = Date.now();
    if (slept) open();
  }, 10_000);

  const online = () => void (connection.get() === "lost" && open());
  window.addEventListener("online", online);
  open();
  return () => {
    window.removeEventListener("online", online);
    window.clearInterval(watch);
    window.clearTimeout(retry);
    stream?.abort();
    connection.set("connecting");
  };
}
