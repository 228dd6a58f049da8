// Puts what the stream brings in place of what the page has. A thing nobody looks at is not kept.
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { Agent, Approval, Delivery, Job, Message, Page, Question, Run, Session } from "./types";

type Pages<T> = InfiniteData<Page<T>>;
/** A window on a conversation; `older` and `newer` say whether there is more beyond it. */
export type Transcript = { items: Message[]; older: boolean; newer: boolean };

export const keys = {
  status: ["status"] as const,
  model: ["model"] as const,
  me: ["me"] as const,
  agents: ["agents"] as const,
  agent: (id: string) => ["agents", id] as const,
  sessions: ["sessions"] as const,
  pinned: ["sessions", "pinned"] as const,
  archived: ["sessions", "archived"] as const,
  session: (key: string) => ["session", key] as const,
  messages: (key: string) => ["messages", key] as const,
  jobs: ["jobs"] as const,
  job: (id: string) => ["job", id] as const,
  runs: ["runs"] as const,
  run: (id: string) => ["run", id] as const,
  turn: (id: string) => ["turn", id] as const,
  deliveries: ["deliveries"] as const,
  inbox: ["inbox"] as const,
  questions: ["questions"] as const,
  approvals: ["approvals"] as const,
  approval: (id: string) => ["approval", id] as const,
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
  else {
    askAgain(client, keys.session(session.key));
    client.setQueryData(keys.session(session.key), session);
  }
  askAgain(client, keys.sessions);
  const lists = client.getQueriesData<Pages<Session>>({ queryKey: keys.sessions });
  for (const [list, data] of lists) {
    const belongs = !gone && isListed(list[1], session);
    const present = data?.pages.some((page) => page.items.some((old) => old.key === session.key)) ?? false;
    if (present)
      inPages<Session>(
        client,
        list,
        (old) => old.key === session.key,
        () => (belongs ? session : null),
        true,
      );
    else if (belongs) refetchSoon(client, list as readonly string[]);
  }
  if (lists.length === 0 && !gone) refetchSoon(client, keys.sessions);
  if (!gone) byActivity(client);
}

/** Whether a list shows a conversation: an archived one is only in the list of archived ones. */
function isListed(list: unknown, { pinned, archived }: Session): boolean {
  if (list === "archived") return archived;
  return !archived && (list !== "pinned" || pinned);
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
  askAgain(client, key);
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
  keepPromise(client, job, gone);
  refetchSoon(client, ["upcoming"], 1000);
  refetchSoon(client, ["why", job.id]);
  refetchSoon(client, keys.status);
}

/** A job that was made for a promise takes its mark away; when the job goes, the mark comes back. */
function keepPromise(client: QueryClient, job: Job, gone: boolean) {
  const seq = Number(/^promise:(\d+)$/.exec(job.dedupe_key ?? "")?.[1] ?? 0);
  if (seq === 0) return;
  client.setQueryData<Transcript>(keys.messages(job.session_key), (data) => {
    if (!data?.items.some((message) => message.seq === seq && message.promise)) return data;
    const items = data.items.map((message) =>
      message.seq === seq && message.promise
        ? { ...message, promise: { ...message.promise, job_id: gone ? null : job.id } }
        : message,
    );
    return { ...data, items };
  });
}

export function placeRun(client: QueryClient, run: Run) {
  // Lists and events leave out the prompt, the error and the steps: what was read once is not thrown away.
  client.setQueryData<Run>(keys.run(run.id), (old) => old && { ...old, ...run });
  const finished = !["queued", "running"].includes(run.state);
  if (finished) refetchSoon(client, keys.run(run.id));
  if (finished) refetchSoon(client, keys.inbox, 1000);
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
  // The list leaves out deliveries to the page itself, the command line and the API.
  if (!present && !/^(web|cli|api):/.test(delivery.address)) refetchSoon(client, keys.deliveries);
  client.setQueryData<Transcript>(keys.messages(delivery.session_key), (data) => {
    if (!data) return data;
    const items = data.items.map((message) =>
      message.seq === delivery.seq ? withDelivery(message, delivery) : message,
    );
    return { ...data, items };
  });
  refetchSoon(client, keys.status, 1000);
}

function withDelivery(message: Message, delivery: Delivery): Message {
  const others = message.deliveries.filter((other) => other.id !== delivery.id);
  return { ...message, deliveries: [...others, delivery] };
}

/** Put an approval in place of what the page has of it. What is told late never opens an answered one again. */
export function placeApproval(client: QueryClient, approval: Approval) {
  const key = keys.approval(approval.id);
  const newer = (old: Approval) => (isOlder(approval, old) ? old : approval);
  askAgain(client, key);
  client.setQueryData<Approval>(key, (old) => (old ? newer(old) : approval));
  const present = inPages<Approval>(client, keys.approvals, (old) => old.id === approval.id, newer);
  if (!present) refetchSoon(client, keys.approvals);
  refetchSoon(client, keys.inbox);
}

export const isOlder = (told: Approval, known: Approval) =>
  (told.state === "pending" && known.state !== "pending") || (told.finished_at === null && known.finished_at !== null);

/** A question is shown by its message, and while it is open in the inbox. */
export function placeQuestion(client: QueryClient, question: Question) {
  refetchSoon(client, keys.inbox);
  refetchSoon(client, keys.questions);
  client.setQueryData<Transcript>(keys.messages(question.session_key), (data) => {
    if (!data?.items.some((message) => message.question?.id === question.id)) return data;
    const items = data.items.map((message) =>
      message.question?.id === question.id ? { ...message, question } : message,
    );
    return { ...data, items };
  });
}

/** Change the matching item in every loaded list of that kind; null takes it out. Says whether there was one. */
function inPages<T>(
  client: QueryClient,
  key: readonly unknown[],
  match: (item: T) => boolean,
  change: (item: T) => T | null,
  exact = false,
): boolean {
  let found = false;
  client.setQueriesData<Pages<T>>({ queryKey: key, exact }, (data) => {
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

/** An answer on its way may have been read before the change that is placed now: it must not have the last word. */
function askAgain(client: QueryClient, key: readonly string[]) {
  if (client.isFetching({ queryKey: key }) > 0) refetchSoon(client, key);
}

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
