// What the server finds for Ctrl-K: names at once, and words in everything.
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import * as ops from "../api/operations";
import { flat, useSessions } from "../api/queries";
import type { Found, Job, Session } from "../api/types";
import { LONGEST, LONGEST_NAME } from "./palette";

const PAUSE_MS = 120;
const MOST_NAMES = 5;
const PENDING_MS = 2000;

/** `asked` is what the results are about: what was typed, once one stops typing. */
export function usePaletteResults(typed: string) {
  // A blank at the end says that the last word is whole.
  const text = typed.trim() && typed.trimStart().slice(0, LONGEST);
  const asked = useSettled(text);
  const recent = flat(useSessions().data).slice(0, MOST_NAMES);
  const names = useQuery({
    queryKey: ["names", asked],
    queryFn: () => findNames(asked),
    enabled: asked !== "" && asked.length <= LONGEST_NAME,
    placeholderData: keepPreviousData,
    gcTime: 60_000,
    staleTime: 0,
  });
  const found = useInfiniteQuery({
    queryKey: ["search", asked],
    queryFn: ({ pageParam }) => ops.search({ q: asked, limit: 20, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    enabled: asked !== "",
    placeholderData: keepPreviousData,
    gcTime: 60_000,
    staleTime: 0,
    // What is indexed meanwhile appears by itself.
    refetchInterval: ({ state }) => ((state.data?.pages[0]?.pending ?? 0) > 0 ? PENDING_MS : false),
  });
  const none = asked === "";
  const named = !none && asked.length <= LONGEST_NAME ? names.data : undefined;
  const sessions: Session[] = none ? recent : (named?.sessions ?? []);
  const jobs: Job[] = named?.jobs ?? [];
  return {
    asked,
    sessions,
    jobs,
    found: none ? [] : withoutNames(flat(found.data), sessions, jobs),
    pending: none ? 0 : (found.data?.pages[0]?.pending ?? 0),
    error: none ? null : (found.error ?? names.error),
    settled: text === asked && (none || !(found.isFetching || names.isFetching)),
    more: !none && found.hasNextPage ? () => void found.fetchNextPage() : null,
  };
}

async function findNames(q: string): Promise<{ sessions: Session[]; jobs: Job[] }> {
  const [sessions, jobs] = await Promise.all([
    ops.listSessions({ q: q.trim(), limit: MOST_NAMES }),
    ops.listJobs({ q: q.trim(), limit: MOST_NAMES }),
  ]);
  return { sessions: sessions.items, jobs: jobs.items };
}

/** What is listed by its name is not listed again by its words. */
function withoutNames(found: Found[], sessions: Session[], jobs: Job[]): Found[] {
  const listed = new Set([...sessions.map(({ key }) => `session ${key}`), ...jobs.map(({ id }) => `job ${id}`)]);
  return found.filter(({ kind, id }) => !listed.has(`${kind} ${id}`));
}

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    if (text === settled) return;
    const timer = window.setTimeout(() => setSettled(text), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [text, settled]);
  return settled;
}
