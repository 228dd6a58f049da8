// What the pages ask for, with the keys under which the stream finds it again.
import { type QueryClient, keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { type Transcript, keys, merge } from "./cache";
import * as ops from "./operations";
import type { DeliveryState, Job, Message, Page, Run } from "./types";

export const useStatus = () => useQuery({ queryKey: keys.status, queryFn: ops.getStatus });
export const useMe = () => useQuery({ queryKey: keys.me, queryFn: ops.getMe });

/** The zone the person thinks in: their own, else the server's. */
export function useMyZone(): string {
  const me = useMe().data;
  const status = useStatus().data;
  return me?.timezone ?? status?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
}

const next = <T,>(page: Page<T>) => page.next_cursor ?? undefined;
const first = undefined as string | undefined;

export const useSessions = (q: string) =>
  useInfiniteQuery({
    queryKey: [...keys.sessions, q],
    queryFn: ({ pageParam }) => ops.listSessions({ ...(q ? { q } : {}), cursor: pageParam }),
    initialPageParam: first,
    getNextPageParam: next,
    placeholderData: keepPreviousData,
  });

export const useSession = (key: string | null) => useQuery({ queryKey: keys.session(key ?? ""), queryFn: () => ops.getSession(key ?? ""), enabled: key !== null });

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
export const useWhy = (id: string, at?: string) => useQuery({ queryKey: ["why", id, at ?? ""], queryFn: () => ops.whyJob(id, at) });
export const useUpcoming = (from: string, to: string) => useQuery({ queryKey: ["upcoming", from, to], queryFn: () => ops.listUpcoming(from, to), placeholderData: keepPreviousData });

export const useDeliveries = (state: DeliveryState | "") =>
  useInfiniteQuery({
    queryKey: [...keys.deliveries, state],
    queryFn: ({ pageParam }) => ops.listDeliveries({ ...(state ? { state } : {}), cursor: pageParam }),
    initialPageParam: first,
    getNextPageParam: next,
    placeholderData: keepPreviousData,
  });

/** A conversation's loaded part. Asked again, it fetches only what is new and keeps what was scrolled to. */
export function useMessages(key: string | null) {
  const client = useQueryClient();
  return useQuery({
    queryKey: keys.messages(key ?? ""),
    queryFn: () => readTranscript(client, key ?? ""),
    enabled: key !== null,
  });
}

async function readTranscript(client: QueryClient, key: string): Promise<Transcript> {
  const newest = await ops.listMessages(key, {});
  // Read after the answer: the stream may have placed messages while it was on its way.
  const have = client.getQueryData<Transcript>(keys.messages(key));
  if (!have || have.items.length === 0) return { items: newest.items, older: newest.next_cursor ?? null };
  const missed = await readMissed(key, have.items.at(-1)?.seq ?? 0, newest.items[0]?.seq ?? 0);
  return { items: merge(have.items, [...missed, ...newest.items]), older: have.older };
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

export async function loadOlder(client: QueryClient, key: string): Promise<void> {
  const have = client.getQueryData<Transcript>(keys.messages(key));
  if (!have?.older) return;
  const page = await ops.listMessages(key, { cursor: have.older });
  client.setQueryData<Transcript>(keys.messages(key), (data) => data && { items: merge(page.items, data.items), older: page.next_cursor ?? null });
}

export const flat = <T,>(data: { pages: Page<T>[] } | undefined): T[] => data?.pages.flatMap((page) => page.items) ?? [];

/** A job's zone is on its schedule; instants of its runs are told in it. */
export const zoneOf = (job: Job | undefined, otherwise: string) => job?.schedule.tz ?? otherwise;
export const isOver = (run: Run) => run.state !== "queued" && run.state !== "running";
