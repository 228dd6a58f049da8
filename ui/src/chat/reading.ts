// What was on screen is read: noted on the server while anything there is unread, and the tab is looked at.
import { useCallback, useEffect, useRef } from "react";
import type { Transcript } from "../api/cache";
import { useSession } from "../api/queries";
import { useMarkRead } from "../arrivals/arrivals";

const SETTLED_MS = 250;
const EDGE = 12;
export const NEAR_END = 80;

/** Gives a function to call whenever other lines may have come into sight. */
export function useReading(key: string, box: React.RefObject<HTMLElement | null>, loaded: Transcript): () => void {
  const session = useSession(key).data;
  const unread = session !== undefined && session.unread > 0;
  const readSeq = session?.read_seq ?? 0;
  const markRead = useMarkRead();
  const timer = useRef<number | undefined>(undefined);

  const look = useCallback(() => {
    if (!unread) return;
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      const seq = box.current && !document.hidden ? lastIn(box.current) : 0;
      // Not being able to say so disturbs nobody: the next look says it again.
      if (seq > readSeq) markRead(key, seq).catch(() => undefined);
    }, SETTLED_MS);
  }, [unread, readSeq, markRead, key, box]);

  // Other messages are other lines.
  useEffect(() => {
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      window.clearTimeout(timer.current);
    };
  }, [look, loaded]);
  return look;
}

/** The last message whose beginning is in sight; who is near the end is at the end. */
function lastIn(element: HTMLElement): number {
  const below = element.scrollHeight - element.scrollTop - element.clientHeight;
  const foot = below < NEAR_END ? Number.POSITIVE_INFINITY : element.getBoundingClientRect().bottom - EDGE;
  const lines = [...element.querySelectorAll<HTMLElement>("[data-seq]")].reverse();
  return Number(lines.find((line) => line.getBoundingClientRect().top < foot)?.dataset.seq ?? 0);
}
