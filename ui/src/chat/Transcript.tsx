// The scrolling part: it stays at the end while one reads there, and stays put while one reads above.
import { useQueryClient } from "@tanstack/react-query";
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useLiveTurn } from "../api/live";
import { loadOlder } from "../api/queries";
import type { Transcript as Loaded } from "../api/cache";
import type { Job } from "../api/types";
import { Icon } from "../parts/Icon";
import { Markdown } from "../parts/Markdown";
import { complain } from "../parts/toasts";
import { longDayOf } from "../time/format";
import { Zone } from "../time/Time";
import { type Entry, entriesOf, newestCards } from "./entries";
import { JobCard, JobLine } from "./JobCard";
import { Line, MessageView, PersonBody, QuietLine } from "./MessageView";
import { type Outgoing, drop, postAgain, useOutbox } from "./outbox";

type TranscriptProps = { sessionKey: string; loaded: Loaded; jobs: Job[]; zone: string; at: number | null };

const NEAR_END = 80;

export function Transcript({ sessionKey, loaded, jobs, zone, at }: TranscriptProps) {
  const box = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(at === null);
  const lastTop = useRef(0);
  const entries = useMemo(() => entriesOf(loaded.items, jobs, zone, loaded.older === null), [loaded, jobs, zone]);
  const newest = useMemo(() => newestCards(loaded.items), [loaded.items]);
  const cardOf = useCallback((jobId: string) => newest.get(jobId), [newest]);
  const live = useLiveTurn(sessionKey);
  const outgoing = useStillOutgoing(sessionKey, loaded);
  const older = useOlder(sessionKey, loaded, box);

  const toEnd = useCallback(() => {
    setAtEnd(true);
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, []);
  const leaveEnd = useCallback(() => setAtEnd(false), []);

  useStayAtEnd(box, atEnd);
  useScrollTo(box, at, loaded, older.load, leaveEnd);
  useSeeOwn(outgoing, toEnd);

  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    // Only who scrolls up leaves the end: text that grows faster than we follow it does not.
    if (element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END) setAtEnd(true);
    else if (element.scrollTop < lastTop.current) setAtEnd(false);
    lastTop.current = element.scrollTop;
    if (element.scrollTop < 400) older.load();
  };

  return (
    <div className="relative min-h-0 flex-1">
      <div ref={box} onScroll={onScroll} className="h-full overflow-y-auto" tabIndex={0} role="log" aria-label="Conversation" aria-live="polite" aria-busy={live !== undefined}>
        <div className={`mx-auto max-w-[50rem] px-4 pt-3 pb-6 sm:px-8 ${entries.length > 150 ? "many" : ""}`}>
          {loaded.older !== null && (
            <p className="py-3 text-center text-[0.87rem] text-mute">
              <button type="button" className="link" onClick={older.load} disabled={older.busy}>
                {older.busy ? "Loading earlier messages" : "Show earlier messages"}
              </button>
            </p>
          )}
          {entries.map((entry) => (
            <EntryView key={entry.key} entry={entry} zone={zone} cardOf={cardOf} at={at} />
          ))}
          {outgoing.filter(opens).map((one) => (
            <OutgoingView key={one.id} one={one} sessionKey={sessionKey} zone={zone} />
          ))}
          {live && live.text !== "" && (
            <Line at={null} zone={zone}>
              <Markdown text={live.text} live />
            </Line>
          )}
          {outgoing
            .filter((one) => !opens(one))
            .map((one) => (
              <OutgoingView key={one.id} one={one} sessionKey={sessionKey} zone={zone} />
            ))}
        </div>
      </div>
      {!atEnd && (
        <button type="button" className="button absolute bottom-3 left-1/2 -translate-x-1/2 shadow-md" onClick={toEnd}>
          <Icon name="down" size={15} /> Latest
        </button>
      )}
    </div>
  );
}

/** A message that opens a turn stands before that turn's answer; one that waits stands after it. */
const opens = (one: Outgoing) => one.will === "start";

type EntryProps = { entry: Entry; zone: string; cardOf: (jobId: string) => number | undefined; at: number | null };

const EntryView = memo(function EntryView({ entry, zone, cardOf, at }: EntryProps) {
  switch (entry.kind) {
    case "day":
      return (
        <p className="mt-4 mb-1 flex items-baseline gap-2 border-b pb-1 text-[0.87rem] first:mt-0">
          <span className="font-semibold">{longDayOf(entry.at, zone)}</span>
          <Zone name={zone} />
        </p>
      );
    case "quiet":
      return <QuietLine messages={entry.messages} zone={zone} />;
    case "job":
      return (
        <Line at={entry.job.created_at} zone={zone}>
          {entry.whole ? <JobCard job={entry.job} change="added" undoRevision={null} /> : <JobLine job={entry.job} change="added" />}
        </Line>
      );
    case "message":
      return <MessageView message={entry.message} zone={zone} follows={entry.follows} cardOf={cardOf} marked={entry.message.seq === at} />;
  }
});

function OutgoingView({ one, sessionKey, zone }: { one: Outgoing; sessionKey: string; zone: string }) {
  const word = one.state === "sending" ? "Sending" : one.will === "queue" ? "Will be answered next" : one.will === "inject" ? "Will be seen in this answer" : null;
  return (
    <Line at={null} zone={zone}>
      <PersonBody text={one.text} faded />
      {one.state === "refused" ? (
        <p role="alert" className="mt-1 flex flex-wrap gap-x-2 text-[0.87rem] text-bad">
          Not sent. {one.error}
          <button type="button" className="link" onClick={() => void postAgain(sessionKey, one)}>
            Send again
          </button>
          <button type="button" className="link" onClick={() => drop(sessionKey, new Set([one.id]))}>
            Drop
          </button>
        </p>
      ) : (
        word && <p className="mt-1 text-[0.83rem] text-mute">{word}</p>
      )}
    </Line>
  );
}

/** What is on its way and not in the transcript yet; what has arrived is forgotten. */
function useStillOutgoing(key: string, loaded: Loaded): Outgoing[] {
  const outbox = useOutbox(key);
  const arrived = useMemo(() => {
    const inbound = new Set(loaded.items.map((message) => message.inbound_id));
    return new Set(outbox.filter((one) => one.inboundId !== null && inbound.has(one.inboundId)).map((one) => one.id));
  }, [outbox, loaded.items]);
  useEffect(() => {
    if (arrived.size > 0) drop(key, arrived);
  }, [key, arrived]);
  return outbox.filter((one) => !arrived.has(one.id));
}

/** Earlier pages go in above; the line one reads stays where it is. */
function useOlder(key: string, loaded: Loaded, box: React.RefObject<HTMLDivElement | null>) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const running = useRef(false);
  const before = useRef<{ seq: number; fromEnd: number } | null>(null);
  const firstSeq = loaded.items[0]?.seq ?? 0;

  const load = useCallback(() => {
    const element = box.current;
    if (running.current || loaded.older === null || !element) return;
    running.current = true;
    setBusy(true);
    before.current = { seq: firstSeq, fromEnd: element.scrollHeight - element.scrollTop };
    loadOlder(client, key)
      .catch(complain)
      .finally(() => {
        running.current = false;
        setBusy(false);
      });
  }, [client, key, loaded.older, firstSeq, box]);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !before.current || firstSeq >= before.current.seq) return;
    element.scrollTop = element.scrollHeight - before.current.fromEnd;
    before.current = null;
  }, [firstSeq, box]);

  return { load, busy };
}

function useStayAtEnd(box: React.RefObject<HTMLDivElement | null>, stay: boolean) {
  const staying = useRef(stay);
  staying.current = stay;
  useLayoutEffect(() => {
    const element = box.current;
    const inside = element?.firstElementChild;
    if (!element || !inside) return;
    const settle = () => {
      if (staying.current) element.scrollTop = element.scrollHeight;
    };
    settle();
    const observer = new ResizeObserver(settle);
    observer.observe(inside);
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
}

/** Who says something wants to see it, and its answer. */
function useSeeOwn(outgoing: Outgoing[], toEnd: () => void) {
  const newest = outgoing.at(-1)?.id;
  useEffect(() => {
    if (newest !== undefined) toEnd();
  }, [newest, toEnd]);
}

/** Bring a linked message into sight, reading back as far as it takes. */
function useScrollTo(
  box: React.RefObject<HTMLDivElement | null>,
  at: number | null,
  loaded: Loaded,
  load: () => void,
  leaveEnd: () => void,
) {
  const done = useRef<number | null>(null);
  useEffect(() => {
    if (at === null || done.current === at) return;
    const target = box.current?.querySelector(`[data-seq="${at}"]`);
    if (target) {
      leaveEnd();
      target.scrollIntoView({ block: "center" });
      done.current = at;
    } else if (loaded.older !== null) load();
  }, [at, loaded, load, leaveEnd, box]);
}
