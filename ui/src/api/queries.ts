// What the pages refetchSoon for, with the keys under which the stream finds it again.
import {
  infiniteQueryOptions,
  keepPreviousData,
  type QueryClient,
  queryOptions,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { nameOf, titleOf } from "../parts/words";
import { beginOf, endOf, keys, MOST, merge, refetchSoon, type Transcript } from "./cache";
import * as ops from "./operations";
import type { DeliveryState, Job, Message, Page, Run } from "./types";

/** The agent that every server has, and that a conversation has unless it was given another. */
export const MAIN_AGENT = "main";

export const useStatus = () => useQuery({ queryKey: keys.status, queryFn: ops.getStatus });
export const useMe = () => useQuery({ queryKey: keys.me, queryFn: ops.getMe });

export const useAgents = (wanted = true) =>
  useQuery({ queryKey: keys.agents, queryFn: async () => (await ops.listAgents()).items, enabled: wanted });
export const useAgent = (id: string) =>
  useQuery({
    queryKey: keys.agent(id),
    queryFn: () => ops.getAgent(id),
    // How a build ends is no change of the agent when it fails.
    refetchInterval: ({ state }) => (state.data?.environment?.state === "building" ? 2000 : false),
  });

export const useMcpServers = (id: string) =>
  useQuery({
    queryKey: [...keys.agent(id), "mcp"],
    queryFn: async () => (await ops.listMcpServers(id)).items,
  });

/** What an agent is called; the list is asked for only where it is not `main`. */
export function useAgentName(id: string): string {
  const agents = useAgents(id !== MAIN_AGENT).data;
  return agents?.find((agent) => agent.id === id)?.name ?? id;
}

/** The zone the person thinks in: their own, else the server's. */
export function useMyZone(): string {
  const me = useMe().data;
  const status = useStatus().data;
  return me?.timezone ?? status?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
}

const next = <T>(page: Page<T>) => page.next_cursor ?? undefined;
const first = undefined as string | undefined;

const sessionsQuery = infiniteQueryOptions({
  queryKey: keys.sessions,
  queryFn: ({ pageParam }) => ops.listSessions({ cursor: pageParam }),
  initialPageParam: first,
  getNextPageParam: next,
});

export const usePinned = () =>
  useInfiniteQuery({
    queryKey: keys.pinned,
    queryFn: ({ pageParam }) => ops.listSessions({ pinned: true, cursor: pageParam }),
    initialPageParam: first,
    getNextPageParam: next,
  });
export const useArchived = (enabled: boolean) =>
  useInfiniteQuery({
    queryKey: keys.archived,
    queryFn: ({ pageParam }) => ops.listSessions({ archived: true, cursor: pageParam }),
    initialPageParam: first,
    getNextPageParam: next,
    enabled,
  });

/** Conversations, newest activity first. */
export const useSessions = () => useInfiniteQuery(sessionsQuery);

export const sessionQuery = (key: string) =>
  queryOptions({ queryKey: keys.session(key), queryFn: () => ops.getSession(key) });
export const useSession = (key: string | null) => useQuery({ ...sessionQuery(key ?? ""), enabled: key !== null });

/**
 * What a conversation is called. Most are in the list at the side; for one further down in it the title that came with
 * what names it counts, or it is asked for by itself.
 */
export function useSessionName(key: string, given?: string | null): string {
  const listed = useInfiniteQuery({
    ...sessionsQuery,
    select: (data) => titleOf(flat(data).find((session) => session.key === key)),
  });
  const alone = useSession(listed.data === "" && given === undefined ? key : null);
  const known = nameOf(key, given, listed.data);
  if (known) return known;
  return titleOf(alone.data) || (alone.isError || listed.isError ? key : "…");
}

export const useJobs = (filter: ops.JobFilter) =>
  useInfiniteQuery({
    queryKey: [...keys.jobs, filter],
    queryFn: ({ pageParam }) => ops.listJobs({ ...filter, cursor: pageParam }),
    initialPageParam: first,
    getNextPageParam: next,
    placeholderData: keepPreviousData,
  });

export const useJob = (id: string) => useQuery({ queryKey: keys.job(id), queryFn: () => ops.getJob(id) });

export const useRuns = (filter: ops.RunFilter, limit = 50) =>
  useInfiniteQuery({
    queryKey: [...keys.runs, filter],
    queryFn: ({ pageParam }) => ops.listRuns({ ...filter, limit, cursor: pageParam }),
    initialPageParam: first,
    getNextPageParam: next,
  });

export const useRun = (id: string) => useQuery({ queryKey: keys.run(id), queryFn: () => ops.getRun(id) });
/** A turn that is over does not change; one that runs is looked at again and again while somebody looks. */
export const useTurn = (id: string) =>
  useQuery({
    queryKey: keys.turn(id),
    queryFn: () => ops.getTurn(id),
    staleTime: (query) => (query.state.data?.state === "closed" ? Number.POSITIVE_INFINITY : 0),
    refetchInterval: (query) => (query.state.data?.state === "running" ? RUNNING_TURN_MS : false),
  });
const RUNNING_TURN_MS = 2000;
export const useWhy = (id: string, at?: string) =>
  useQuery({ queryKey: ["why", id, at ?? ""], queryFn: () => ops.whyJob(id, at) });
export const useUpcoming = (from: string, to: string) =>
  useQuery({
    queryKey: ["upcoming", from, to],
    queryFn: () => ops.listUpcoming(from, to),
    placeholderData: keepPreviousData,
  });

export const useUsage = (by: Parameters<typeof ops.getUsage>[0]) =>
  useQuery({ queryKey: ["usage", by], queryFn: () => ops.getUsage(by), placeholderData: keepPreviousData });
export const useDeliveries = (state: DeliveryState | "") =>
  useInfiniteQuery({
    queryKey: [...keys.deliveries, state],
    queryFn: ({ pageParam }) => ops.listDeliveries({ ...(state ? { state } : {}), outside: true, cursor: pageParam }),
    initialPageParam: first,
    getNextPageParam: next,
    placeholderData: keepPreviousData,
  });

/** What arrived unread, what waits for an answer and what failed. The navigation counts it, so it is there on every page. */
export const useInbox = () =>
  useInfiniteQuery({
    queryKey: keys.inbox,
    queryFn: ({ pageParam }) => ops.listInbox({ limit: WHOLE_INBOX, cursor: pageParam }),
    initialPageParam: first,
    getNextPageParam: next,
  });
const WHOLE_INBOX = 200;

/** How many things are still to be done: what waits, seen or not, what arrived, and the failures nobody has looked at. */
export function useInboxCount(): number {
  const pages = useInbox().data?.pages;
  const fresh = flat(pages && { pages }).filter((item) => ["failure", "unread"].includes(item.kind) && !item.seen);
  return (pages?.[0]?.waiting ?? 0) + fresh.length;
}

/** How many messages in all conversations are unread. */
export const useUnread = () => useInbox().data?.pages[0]?.unread ?? 0;

export const useOpenQuestions = (wanted: boolean) =>
  useQuery({
    queryKey: keys.questions,
    queryFn: async () => (await ops.listQuestions({ state: "pending", limit: WHOLE_INBOX })).items,
    enabled: wanted,
  });

export const useApproval = (id: string) =>
  useQuery({ queryKey: keys.approval(id), queryFn: () => ops.getApproval(id) });
export const useApprovals = (filter: ops.ApprovalFilter) =>
  useInfiniteQuery({
    queryKey: [...keys.approvals, filter],
    queryFn: ({ pageParam }) => ops.listApprovals({ ...filter, cursor: pageParam }),
    initialPageParam: first,
    getNextPageParam: next,
    placeholderData: keepPreviousData,
  });

/** A window on a conversation, at its end or around a message. Asked again, it fetches only what is new. */
export function useMessages(key: string, at: number | null) {
  const client = useQueryClient();
  return useQuery(messagesQuery(client, key, at));
}

export const messagesQuery = (client: QueryClient, key: string, at: number | null) =>
  queryOptions({ queryKey: keys.messages(key), queryFn: () => readTranscript(client, key, at) });

const windowOf = (client: QueryClient, key: string) => client.getQueryData<Transcript>(keys.messages(key));

async function readTranscript(client: QueryClient, key: string, at: number | null): Promise<Transcript> {
  const had = windowOf(client, key);
  if (!had && at !== null) return readAround(key, at);
  if (had?.newer) return had;
  const newest = await ops.listMessages(key, {});
  const end = { items: newest.items, older: newest.next_cursor !== null, newer: false };
  // Read after the answer: the stream may have placed messages while it was on its way.
  const have = windowOf(client, key);
  const last = have?.items.at(-1)?.seq;
  if (!have || last === undefined) return end;
  if (have.newer) return have;
  const first = newest.items[0]?.seq ?? 0;
  // After a long sleep there may be thousands: then it starts again at the end.
  if (first - last > MOST) return end;
  const missed = await readMissed(key, last, first);
  return endOf({ ...have, items: merge(have.items, [...missed, ...newest.items]) }, 2 * MOST);
}

async function readAround(key: string, at: number): Promise<Transcript> {
  const [until, beyond] = await Promise.all([
    ops.listMessages(key, { before: at + 1 }),
    ops.listMessages(key, { after: at }),
  ]);
  return {
    items: [...until.items, ...beyond.items],
    older: until.next_cursor !== null,
    newer: beyond.next_cursor !== null,
  };
}

async function readMissed(key: string, last: number, until: number): Promise<Message[]> {
  const missed: Message[] = [];
  while (last + 1 < until) {
    const page = await ops.listMessages(key, { after: last, limit: 200 });
    missed.push(...page.items);
    const end = page.items.at(-1)?.seq;
    if (end === undefined) break;
    last = end;
  }
  return missed;
}

// As many as can be drawn without a stutter.
const STEP = 30;

export async function loadOlder(client: QueryClient, key: string): Promise<void> {
  const first = windowOf(client, key)?.items[0]?.seq;
  if (first === undefined) return;
  const page = await ops.listMessages(key, { before: first, limit: STEP });
  client.setQueryData<Transcript>(keys.messages(key), (data) =>
    data?.items[0]?.seq === first
      ? beginOf({ ...data, items: page.items.concat(data.items), older: page.next_cursor !== null })
      : data,
  );
}

export async function loadNewer(client: QueryClient, key: string): Promise<void> {
  const last = windowOf(client, key)?.items.at(-1)?.seq;
  if (last === undefined) return;
  const page = await ops.listMessages(key, { after: last, limit: STEP });
  client.setQueryData<Transcript>(keys.messages(key), (data) =>
    data?.items.at(-1)?.seq === last
      ? endOf({ ...data, items: data.items.concat(page.items), newer: page.next_cursor !== null })
      : data,
  );
  lookAgain(client, key);
}

/** Move the window to the end, or to where a message stands. */
export async function moveTo(client: QueryClient, key: string, at: number | null): Promise<void> {
  const newest = at === null ? await ops.listMessages(key, {}) : null;
  const data = newest
    ? { items: newest.items, older: newest.next_cursor !== null, newer: false }
    : await readAround(key, at ?? 0);
  client.setQueryData<Transcript>(keys.messages(key), data);
  lookAgain(client, key);
}

/** What arrived while a window that did not reach the end came to reach it was not placed: it is asked for. */
function lookAgain(client: QueryClient, key: string) {
  if (!windowOf(client, key)?.newer) refetchSoon(client, keys.messages(key), 0);
}

export const flat = <T>(data: { pages: Page<T>[] } | undefined): T[] => data?.pages.flatMap((page) => page.items) ?? [];

/** A job's zone is on its schedule; instants of its runs are told in it. */
export const zoneOf = (job: Job | undefined, otherwise: string) => job?.schedule.tz ?? otherwise;
export const isOver = (run: Run) => run.state !== "queued" && run.state !== "running";
