// Puts what the stream brings in place of what the page has. A thing nobody looks at is not kept.
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { Agent, Delivery, Job, Message, Page, Run, Session } from "./types";

type Pages<T> = InfiniteData<Page<T>>;
/** A window on a conversation; `older` and `newer` say whether there is more beyond it. */
export type Transcript = { items: Message[]; older: boolean; newer: boolean };

export const keys = {
  status: ["status"] as const,
  me: ["me"] as const,
  agents: ["agents"] as const,
  agent: (id: string) => ["agents", id] as const,
  sessions: ["sessions"] as const,
  session: (key: string) => ["session", key] as const,
  messages: (key: string) => ["messages", key] as const,
  jobs: ["jobs"] as const,
  job: (id: string) => ["job", id] as const,
  runs: ["runs"] as const,
  run: (id: string) => ["run", id] as const,
  turn: (id: string) => ["turn", id] as const,
  deliveries: ["deliveries"] as const,
};

/** Put an agent in place of what the page has of it. A removed one goes. */
export function placeAgent(client: QueryClient, agent: Agent, removed = false) {
  if (removed) client.removeQueries({ queryKey: keys.agent(agent.id) });
  else client.setQueryData(keys.agent(agent.id), agent);
  refetchSoon(client, keys.agents, 0);
}

export function placeSession(client: QueryClient, session: Session) {
  const gone = session.deleted_at !== null;
  if (gone) refetchSoon(client, keys.session(session.key), 0);
  else client.setQueryData(keys.session(session.key), session);
  const present = inPages<Session>(
    client,
    keys.sessions,
    (old) => old.key === session.key,
    () => (gone ? null : session),
  );
  if (!gone && present) byActivity(client);
  if (!gone && !present) refetchSoon(client, keys.sessions);
}

/** Newest activity first, across the pages that are loaded. */
function byActivity(client: QueryClient) {
  client.setQueriesData<Pages<Session>>({ queryKey: keys.sessions }, (data) => {
    if (!data) return data;
    const active = (session: Session) => Date.parse(session.last_message?.created_at ?? session.created_at);
    const all = data.pages.flatMap((page) => page.items).sort((a, b) => active(b) - active(a));
    let from = 0;
    const pages = data.pages.map((page) => {
      const items = all.slice(from, from + page.items.length);
      from += items.length;
      return { ...page, items };
    });
    return { ...data, pages };
  });
}

export function placeMessage(client: QueryClient, message: Message) {
  const key = keys.messages(message.session_key);
  // The answer on its way may have been read before this message was written.
  if (client.getQueryState(key)?.fetchStatus === "fetching") refetchSoon(client, key);
  // A window that does not reach the end gets it when one reads on; only a change of what it shows goes in.
  client.setQueryData<Transcript>(key, (data) =>
    !data || (data.newer && message.seq > (data.items.at(-1)?.seq ?? 0))
      ? data
      : endOf({ ...data, items: merge(data.items, [message]) }, 2 * MOST),
  );
}

/** However long a conversation is, the page holds about so many of its messages. */
export const MOST = 300;

export const beginOf = (data: Transcript, most = MOST): Transcript =>
  data.items.length <= most ? data : { ...data, items: data.items.slice(0, most), newer: true };
export const endOf = (data: Transcript, most = MOST): Transcript =>
  data.items.length <= most ? data : { ...data, items: data.items.slice(-most), older: true };

/** Both lists in seq order, each seq once, the newer copy kept. */
export function merge(have: Message[], more: Message[]): Message[] {
  const last = have.at(-1);
  const first = more[0];
  if (!last || (first && first.seq > last.seq)) return have.concat(more);
  const bySeq = new Map(have.map((message) => [message.seq, message]));
  for (const message of more) bySeq.set(message.seq, message);
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}

export function placeJob(client: QueryClient, job: Job) {
  const gone = job.removed_at !== null;
  client.setQueryData<Job>(keys.job(job.id), (old) =>
    old || !gone ? { ...job, recent: job.recent ?? old?.recent } : old,
  );
  let moved = false;
  const present = inPages<Job>(
    client,
    keys.jobs,
    (old) => old.id === job.id,
    (old) => {
      moved ||= old.status !== job.status;
      return gone ? null : { ...job, recent: job.recent ?? old.recent };
    },
  );
  // A new one is wanted at once; of the many that are merely further down in the list, each run would ask again.
  if (!gone && !present) refetchSoon(client, keys.jobs, job.revision === 1 && !job.state.last_run_id ? 250 : 3000);
  // Its place in the order may be another now; but a row must not move away under the pointer.
  else if (moved) void client.invalidateQueries({ queryKey: keys.jobs, refetchType: "none" });
  refetchSoon(client, ["upcoming"], 1000);
  refetchSoon(client, ["why", job.id]);
  refetchSoon(client, keys.status);
}

export function placeRun(client: QueryClient, run: Run) {
  // Lists and events leave out the prompt, the error and the steps: what was read once is not thrown away.
  client.setQueryData<Run>(keys.run(run.id), (old) => old && { ...old, ...run });
  const finished = !["queued", "running"].includes(run.state);
  if (finished) refetchSoon(client, keys.run(run.id));
  const present = inPages<Run>(
    client,
    keys.runs,
    (old) => old.id === run.id,
    (old) => ({ ...old, ...run }),
  );
  if (!present) refetchSoon(client, keys.runs, 1000);
  const recent = {
    id: run.id,
    scheduled_for: run.scheduled_for,
    state: run.state,
    state_words: run.state_words,
    reason: run.reason,
    reason_words: run.reason_words,
  };
  inPages<Job>(
    client,
    keys.jobs,
    (old) => old.id === run.job_id && old.recent !== undefined,
    (old) => ({ ...old, recent: [recent, ...(old.recent ?? []).filter((other) => other.id !== run.id)].slice(0, 30) }),
  );
  refetchSoon(client, ["why"], 1000);
  refetchSoon(client, keys.status, 1000);
}

export function placeDelivery(client: QueryClient, delivery: Delivery) {
  const present = inPages<Delivery>(
    client,
    keys.deliveries,
    (old) => old.id === delivery.id,
    (old) => ({ ...old, ...delivery }),
  );
  if (!present) refetchSoon(client, keys.deliveries);
  client.setQueryData<Transcript>(keys.messages(delivery.session_key), (data) => {
    if (!data) return data;
    const items = data.items.map((message) =>
      message.seq === delivery.seq ? withDelivery(message, delivery) : message,
    );
    return { ...data, items };
  });
  refetchSoon(client, keys.status, 1000);
}

function withDelivery(message: Message, { id, address, state, attempts, error }: Delivery): Message {
  const others = message.deliveries.filter((other) => other.id !== id);
  return { ...message, deliveries: [...others, { id, address, state, attempts, error }] };
}

/** Change the matching item in every loaded list of that kind; null takes it out. Says whether there was one. */
function inPages<T>(
  client: QueryClient,
  key: readonly string[],
  match: (item: T) => boolean,
  change: (item: T) => T | null,
): boolean {
  let found = false;
  client.setQueriesData<Pages<T>>({ queryKey: key }, (data) => {
    if (!data?.pages.some((page) => page.items.some(match))) return data;
    found = true;
    const pages = data.pages.map((page) => ({
      ...page,
      items: page.items.flatMap((item) => (match(item) ? [change(item)].filter((kept) => kept !== null) : [item])),
    }));
    return { ...data, pages };
  });
  return found;
}

/** A list with so many loaded pages that fetching all of them again would be slow. */
const isDeep = (data: unknown) => ((data as Partial<Pages<unknown>> | undefined)?.pages?.length ?? 0) > 6;

const pendingRefetches = new Map<string, number>();

/** Fetch it again, once for a burst of events. */
export function refetchSoon(client: QueryClient, key: readonly string[], afterMs = 250) {
  const name = key.join(" ");
  if (pendingRefetches.has(name)) return;
  const timer = window.setTimeout(() => {
    pendingRefetches.delete(name);
    void client.invalidateQueries({ queryKey: key, predicate: (query) => !isDeep(query.state.data) });
    // A person who reads far down in a list is not disturbed; it is fetched when it is opened again.
    void client.invalidateQueries({
      queryKey: key,
      predicate: (query) => isDeep(query.state.data),
      refetchType: "none",
    });
  }, afterMs);
  pendingRefetches.set(name, timer);
}
