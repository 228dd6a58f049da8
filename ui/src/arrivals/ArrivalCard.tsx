// A card for what arrived in another conversation: the newest on top, the rest folded into one line.
import { useEffect, useState } from "react";
import { createPortal } from "react-dom";
import { useSession } from "../api/queries";
import type { Message } from "../api/types";
import { useJobActions } from "../automations/actions";
import { focusComposer } from "../chat/focus";
import { Icon, type IconName } from "../parts/Icon";
import { useTopLayer } from "../parts/layers";
import { toastError } from "../parts/toasts";
import { plainOf, titleOf } from "../parts/words";
import { Link, navigate, pathTo } from "../router";
import { dismiss, dismissAll, useArrivals, useCollectArrivals, useMarkRead } from "./arrivals";

const SHOWN_MS = 30_000;

export function Arrivals() {
  useCollectArrivals();
  const all = useArrivals();
  const newest = all.at(-1);
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (!newest || held) return;
    // It stays unread: the title, the list and the inbox still say so.
    const timer = window.setTimeout(dismissAll, SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [newest, held]);
  return createPortal(
    <div
      role="status"
      aria-live="polite"
      aria-label="Arrivals"
      className="pointer-events-none fixed top-16 right-2 left-2 z-50 md:top-4 md:right-6 md:left-auto md:w-[28rem]"
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      {newest && <ArrivalCard key={`${newest.session_key}#${newest.seq}`} message={newest} others={all.length - 1} />}
    </div>,
    useTopLayer(),
  );
}

const icons: Partial<Record<Message["kind"], IconName>> = {
  reminder: "bell",
  scheduled: "clock",
  report: "report",
  note: "note",
  question: "question",
  approval: "approve",
};
const words: Partial<Record<Message["kind"], string>> = {
  reminder: "Reminder",
  report: "Report",
  note: "Note",
  question: "Question",
  approval: "Approval",
  chat: "Message",
};

function ArrivalCard({ message, others }: { message: Message; others: number }) {
  const { session_key: key, seq, kind } = message;
  const session = useSession(key);
  const actions = useJobActions();
  const markRead = useMarkRead();
  const [busy, setBusy] = useState(false);
  const gone = session.isError || (session.data && session.data.read_seq >= seq);
  useEffect(() => {
    if (gone) dismiss(key, seq);
  }, [gone, key, seq]);

  const name = message.meta.cron_job_name;
  const head = kind === "reminder" || kind === "scheduled" ? (name ?? words.reminder) : (words[kind] ?? name);
  const asks = kind === "question" || kind === "approval";

  async function handle(action: () => Promise<unknown>) {
    setBusy(true);
    try {
      await action();
      // The button that had the focus is about to go.
      document.getElementById("main")?.focus({ preventScroll: true });
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  }

  const later = (when: string) => () =>
    handle(async () => {
      const text = kind === "reminder" || !name ? message.text : `${name}: ${message.text}`;
      if (await actions.remind(key, when, text.slice(0, LONGEST), name ?? titleOf(session.data)))
        await markRead(key, seq);
    });

  function reply() {
    dismiss(key, seq);
    if (kind === "approval" && message.approval) return navigate(pathTo.approval(message.approval.id));
    focusComposer(key);
    navigate(pathTo.chat(key));
  }

  return (
    <section
      aria-label={`Arrived: ${head ?? "message"}`}
      className="arrival pointer-events-auto rounded-xl border border-edge bg-paper px-4 pt-2 pb-2.5 shadow-lg"
    >
      <div className="flex items-start gap-2.5">
        <Icon name={icons[kind] ?? "chat"} size={18} className="mt-1.5 flex-none text-accent" />
        <div className="min-w-0 flex-1 pt-1">
          <p className="truncate font-semibold">{head ?? "Arrived"}</p>
          <p className="line-clamp-3 [overflow-wrap:anywhere]">{plainOf(message.text, 300)}</p>
          <p className="truncate text-small text-mute">
            <Link to={pathTo.message(key, seq)} className="hover:underline" onClick={() => dismiss(key, seq)}>
              in {titleOf(session.data) || key}
            </Link>
          </p>
        </div>
        <button
          type="button"
          className="icon-button -mr-2 flex-none"
          aria-label="Dismiss, keep unread"
          onClick={() => dismiss(key, seq)}
        >
          <Icon name="close" size={16} />
        </button>
      </div>
      <div className="mt-2 flex flex-wrap items-center gap-1.5">
        {asks ? (
          <button type="button" className="button" data-look="main" onClick={reply}>
            Answer
          </button>
        ) : (
          <>
            <button
              type="button"
              className="button"
              data-look="main"
              disabled={busy}
              onClick={() => void handle(() => markRead(key, seq))}
            >
              Done
            </button>
            <button
              type="button"
              className="button"
              disabled={busy}
              title="Remind me in 10 minutes"
              onClick={later("in 10 minutes")}
            >
              Snooze 10 min
            </button>
            <button
              type="button"
              className="button"
              disabled={busy}
              title="Remind me tomorrow at 9:00"
              onClick={later("tomorrow at 9:00")}
            >
              Tomorrow
            </button>
            <button type="button" className="button" onClick={reply}>
              Reply
            </button>
          </>
        )}
        {others > 0 && (
          <Link to="/inbox" className="link ml-auto text-small" onClick={dismissAll}>
            {`and ${others} more`}
          </Link>
        )}
      </div>
    </section>
  );
}

const LONGEST = 1000;
