// The scrolling part: it stays at the end while one reads there, and stays put while one reads above. Of a long
// conversation it holds a window, which moves as one reads on.
import { useQueryClient } from "@tanstack/react-query";
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Transcript as Loaded } from "../api/cache";
import { type LiveTurn, useLiveTurn } from "../api/live";
import { loadNewer, loadOlder, moveTo } from "../api/queries";
import type { Job } from "../api/types";
import { Icon } from "../parts/Icon";
import { Markdown } from "../parts/Markdown";
import { ServerText } from "../parts/ServerText";
import { toastError } from "../parts/toasts";
import { useRepeats } from "../router";
import { longDayOf } from "../time/format";
import { Zone } from "../time/Time";
import { type Entry, entriesOf, newestCards } from "./entries";
import { JobCard, JobLine } from "./JobCard";
import { MessageFiles } from "./MessageFiles";
import { Line, MessageView, PersonBody, QuietLine } from "./MessageView";
import { drop, type Outgoing, postAgain, useOutbox } from "./outbox";
import { NEAR_END, useReading } from "./reading";
import { LiveToolLines } from "./ToolLines";

type TranscriptProps = { sessionKey: string; loaded: Loaded; jobs: Job[]; zone: string; at: number | null };

// Earlier and later messages are fetched before one comes to where they are missing.
const AHEAD = 1200;
const COLUMN = "mx-auto max-w-[50rem] px-4 pt-3 pb-6 sm:px-8";

export function Transcript({ sessionKey, loaded, jobs, zone, at }: TranscriptProps) {
  const box = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(at === null);
  const lastTop = useRef(0);
  const entries = useMemo(() => entriesOf(loaded, jobs, zone), [loaded, jobs, zone]);
  const cardOf = useCardOf(loaded);
  const heard = useLiveTurn(sessionKey);
  // Text and closing change places in one step, so that nobody loses their place in the log.
  const live = heard && isClosed(loaded, heard.turnId) ? undefined : heard;
  const outgoing = useStillOutgoing(sessionKey, loaded);
  const { older, newer, move, busy } = useWindow(sessionKey, loaded, box);

  const toEnd = useCallback(() => {
    setAtEnd(true);
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, []);
  const leaveEnd = useCallback(() => setAtEnd(false), []);

  const look = useReading(sessionKey, box, loaded);
  useStayAtEnd(box, atEnd);
  useScrollTo(box, at, loaded, move, leaveEnd);
  useSeeOwn(outgoing, toEnd);
  useEffect(() => {
    // The window may be elsewhere: it comes along to the end.
    if (atEnd) move(null);
  }, [atEnd, move]);

  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    // Only who scrolls up leaves the end: text that grows faster than we follow it does not.
    if (below < NEAR_END && !loaded.newer) setAtEnd(true);
    else if (element.scrollTop < lastTop.current) setAtEnd(false);
    lastTop.current = element.scrollTop;
    look();
    if (element.scrollTop < AHEAD) older();
    else if (below < AHEAD && !atEnd) newer();
  };

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box}
        onScroll={onScroll}
        className="h-full overflow-y-auto"
        tabIndex={0}
        role="log"
        aria-label="Conversation"
        aria-live="polite"
        aria-busy={live !== undefined && !live.closed}
      >
        <div className={COLUMN}>
          {loaded.older && <Beyond which="earlier" busy={busy} load={older} />}
          {entries.map((entry) => (
            <EntryView key={entry.key} entry={entry} zone={zone} cardOf={cardOf} at={at} />
          ))}
          {loaded.newer ? (
            <Beyond which="later" busy={busy} load={newer} />
          ) : (
            <Tail sessionKey={sessionKey} zone={zone} live={live} outgoing={outgoing} />
          )}
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

const isClosed = ({ items }: Loaded, turnId: string) =>
  items.some(({ role, turn_id }) => role === "assistant" && turn_id === turnId);

function Beyond({ which, busy, load }: { which: "earlier" | "later"; busy: boolean; load: () => void }) {
  return (
    <p className="py-3 text-center text-small text-mute">
      <button type="button" className="link" onClick={load} disabled={busy}>
        {busy ? `Loading ${which} messages` : `Show ${which} messages`}
      </button>
    </p>
  );
}

/** What is not in the record yet: the answer as it grows, and what is on its way. */
function Tail({
  sessionKey,
  zone,
  live,
  outgoing,
}: {
  sessionKey: string;
  zone: string;
  live: LiveTurn | undefined;
  outgoing: Outgoing[];
}) {
  const view = (one: Outgoing) => <OutgoingView key={one.id} one={one} sessionKey={sessionKey} zone={zone} />;
  return (
    <>
      {outgoing.filter(opens).map(view)}
      {live && (live.text !== "" || live.steps.some((step) => step.kind === "tool")) && (
        <Line at={null} zone={zone}>
          <LiveToolLines steps={live.steps} />
          {live.text !== "" && <Markdown text={live.text} live />}
        </Line>
      )}
      {outgoing.filter((one) => !opens(one)).map(view)}
    </>
  );
}

/** A message that opens a turn stands before that turn's answer; one that waits stands after it. */
const opens = (one: Outgoing) => one.will === "start";

type EntryProps = { entry: Entry; zone: string; cardOf: (jobId: string) => number | undefined; at: number | null };

const EntryView = memo(function EntryView({ entry, zone, cardOf, at }: EntryProps) {
  switch (entry.kind) {
    case "day":
      return (
        <p className="mt-4 mb-1 flex items-baseline gap-2 border-b pb-1 text-small first:mt-0">
          <span className="font-semibold">{longDayOf(entry.at, zone)}</span>
          <Zone name={zone} />
        </p>
      );
    case "quiet":
      return <QuietLine messages={entry.messages} zone={zone} />;
    case "job":
      return (
        <Line at={entry.job.created_at} zone={zone}>
          {entry.whole ? (
            <JobCard job={entry.job} change="added" undoRevision={null} />
          ) : (
            <JobLine job={entry.job} change="added" />
          )}
        </Line>
      );
    case "message":
      return (
        <MessageView
          message={entry.message}
          zone={zone}
          follows={entry.follows}
          cardOf={cardOf}
          marked={entry.message.seq === at}
          again={entry.again}
        />
      );
  }
});

function OutgoingView({ one, sessionKey, zone }: { one: Outgoing; sessionKey: string; zone: string }) {
  const word =
    one.state === "sending"
      ? "Sending"
      : one.will === "queue"
        ? "Will be answered next"
        : one.will === "inject"
          ? "Will be seen in this answer"
          : null;
  return (
    <Line at={null} zone={zone}>
      {one.text !== "" && <PersonBody text={one.text} faded />}
      {one.files.length > 0 && <MessageFiles files={[...one.files]} />}
      {one.state === "unreachable" || one.state === "refused" ? (
        <p role="alert" className="mt-1 flex flex-wrap gap-x-2 text-small text-bad">
          <NotSent one={one} />
          {one.state === "refused" && (
            <button type="button" className="link" onClick={() => void postAgain(sessionKey, one)}>
              Send again
            </button>
          )}
          <button type="button" className="link" onClick={() => drop(sessionKey, new Set([one.id]))}>
            Drop
          </button>
        </p>
      ) : (
        word && <p className="mt-1 text-fine text-mute">{word}</p>
      )}
    </Line>
  );
}

/** A conversation of which nothing is in the record yet: what is on its way to begin it. */
export function OutgoingOnly({ sessionKey, zone }: { sessionKey: string; zone: string }) {
  const outgoing = useOutbox(sessionKey);
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="log" aria-label="Conversation">
      <div className={COLUMN}>
        {outgoing.map((one) => (
          <OutgoingView key={one.id} one={one} sessionKey={sessionKey} zone={zone} />
        ))}
      </div>
    </div>
  );
}

function NotSent({ one }: { one: Outgoing }) {
  return (
    <span>
      {one.state === "refused" ? (
        <>
          Not sent. <ServerText text={one.error ?? ""} />
        </>
      ) : (
        "Not sent yet: Homing does not answer. It will be sent as soon as Homing is back."
      )}
    </span>
  );
}

/** Where the newest card of a job stands. The same function until that changes, so that no message is drawn again for nothing. */
function useCardOf(loaded: Loaded) {
  const newest = newestCards(loaded.items);
  const held = useRef(newest);
  if (held.current.size !== newest.size || [...newest].some(([jobId, seq]) => held.current.get(jobId) !== seq))
    held.current = newest;
  const cards = held.current;
  return useCallback((jobId: string) => cards.get(jobId), [cards]);
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

/** Pages go in above and below, and far ones go; the line one reads stays where it is. */
function useWindow(key: string, loaded: Loaded, box: React.RefObject<HTMLDivElement | null>) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const running = useRef(false);
  const anchor = useRef<{ seq: string; top: number } | null>(null);
  const shown = useRef("");
  const data = useRef(loaded);
  data.current = loaded;
  const firstSeq = loaded.items[0]?.seq ?? 0;
  const lastSeq = loaded.items.at(-1)?.seq ?? 0;

  const load = useCallback(
    (read: typeof loadOlder) => {
      if (running.current) return;
      running.current = true;
      setBusy(true);
      read(client, key)
        .catch(toastError)
        .finally(() => {
          running.current = false;
          setBusy(false);
        });
    },
    [client, key],
  );
  const older = useCallback(() => void (data.current.older && load(loadOlder)), [load]);
  const newer = useCallback(() => void (data.current.newer && load(loadNewer)), [load]);
  const move = useCallback(
    (at: number | null) => void ((at !== null || data.current.newer) && moveTo(client, key, at).catch(toastError)),
    [client, key],
  );

  // Looked at before React changes the page, for one may scroll until the last moment: which line is read, and where.
  const moves = shown.current !== `${firstSeq} ${lastSeq}`;
  if (moves) anchor.current = box.current && anchorIn(box.current);
  useLayoutEffect(() => {
    shown.current = `${firstSeq} ${lastSeq}`;
    const element = box.current;
    const held = anchor.current && element?.querySelector(`[data-seq="${anchor.current.seq}"]`);
    if (element && held && anchor.current) element.scrollTop += held.getBoundingClientRect().top - anchor.current.top;
  }, [firstSeq, lastSeq, box]);

  return { older, newer, move, busy };
}

function anchorIn(element: HTMLElement): { seq: string; top: number } | null {
  const edge = element.getBoundingClientRect().top;
  for (const line of element.querySelectorAll<HTMLElement>("[data-seq]")) {
    const { top, bottom } = line.getBoundingClientRect();
    if (bottom > edge) return { seq: line.dataset.seq ?? "", top };
  }
  return null;
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

/** Bring a linked message into sight; where the window does not hold it, the window moves there. */
function useScrollTo(
  box: React.RefObject<HTMLDivElement | null>,
  at: number | null,
  loaded: Loaded,
  move: (at: number) => void,
  leaveEnd: () => void,
) {
  const repeats = useRepeats();
  const wanted = at === null ? null : `${at} ${repeats}`;
  const done = useRef<string | null>(null);
  const moved = useRef<string | null>(null);
  useEffect(() => {
    if (wanted === null || at === null) done.current = null;
    if (wanted === null || at === null || done.current === wanted) return;
    const target = box.current?.querySelector(`[data-seq="${at}"]`);
    if (target) {
      leaveEnd();
      target.scrollIntoView({ block: "center" });
      done.current = wanted;
    } else if (moved.current !== wanted) {
      moved.current = wanted;
      leaveEnd();
      move(at);
    }
  }, [at, wanted, loaded, move, leaveEnd, box]);
}
