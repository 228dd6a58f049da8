// Short messages at the edge, with an undo where there is one. They stay while the pointer or the focus is on them.
import { useEffect, useState } from "react";
import { createPortal } from "react-dom";
import { sentenceOf } from "../api/client";
import { Link } from "../router";
import { createStore } from "../store";
import { Icon } from "./Icon";
import { useTopLayer } from "./layers";
import { ServerText } from "./ServerText";

/** `warnings` are what the server adds to an action that it did carry out. */
export type Toast = {
  text: string;
  warnings?: string[] | null;
  bad?: boolean;
  undo?: () => Promise<unknown>;
  link?: { to: string; text: string };
};
type Shown = Toast & { id: number };

const SHOWN_MS = 8000;
const WARNED_MS = 24_000;
const toasts = createStore<readonly Shown[]>([]);
let count = 0;

export function toast(news: Toast) {
  count += 1;
  toasts.set([...toasts.get().slice(-2), { ...news, id: count }]);
}

export function toastError(error: unknown) {
  toast({ text: sentenceOf(error), bad: true });
}

const dismiss = (id: number) => toasts.set(toasts.get().filter((shown) => shown.id !== id));

export function Toasts() {
  const shown = toasts.use((all) => all);
  return createPortal(
    <div
      className="pointer-events-none fixed right-0 bottom-32 left-0 z-50 flex flex-col items-center gap-2 px-3 md:right-6 md:bottom-24 md:left-auto md:items-end"
      role="status"
      aria-live="polite"
      aria-label="News"
    >
      {shown.map((one) => (
        <OneToast key={one.id} toast={one} />
      ))}
    </div>,
    useTopLayer(),
  );
}

function OneToast({ toast: { id, text, warnings, bad, undo, link } }: { toast: Shown }) {
  const [held, setHeld] = useState(false);
  const shownMs = warnings?.length ? WARNED_MS : SHOWN_MS;
  useEffect(() => {
    if (held) return;
    const timer = window.setTimeout(() => dismiss(id), shownMs);
    return () => window.clearTimeout(timer);
  }, [id, held, shownMs]);

  async function takeBack() {
    dismiss(id);
    try {
      await undo?.();
    } catch (error) {
      toastError(error);
    }
  }

  return (
    <div
      className={`pointer-events-auto flex max-w-[26rem] items-center gap-3 rounded-lg py-1.5 pr-1.5 pl-4 text-small shadow-lg ${bad ? "bg-bad text-paper" : "bg-ink text-paper"}`}
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <span className="py-1 [overflow-wrap:anywhere]">
        <ServerText text={text} />
        {warnings?.map((warning) => (
          <span key={warning} className="mt-1 flex items-start gap-2">
            <Icon name="note" size={15} className="mt-1 flex-none" />
            <span>
              <ServerText text={warning} />
            </span>
          </span>
        ))}
      </span>
      {link && (
        <Link
          to={link.to}
          className="rounded px-2 py-1 font-semibold whitespace-nowrap underline underline-offset-4"
          onClick={() => dismiss(id)}
        >
          {link.text}
        </Link>
      )}
      {undo && (
        <button
          type="button"
          className="rounded px-2 py-1 font-semibold underline underline-offset-4"
          onClick={() => void takeBack()}
        >
          Undo
        </button>
      )}
      <button type="button" className="rounded p-1.5" aria-label="Dismiss" onClick={() => dismiss(id)}>
        <Icon name="close" size={15} />
      </button>
    </div>
  );
}
