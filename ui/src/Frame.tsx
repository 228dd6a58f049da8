// What stands around every page: the side with places and conversations, and on phones a bar at the foot.
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { useConnection } from "./api/live";
import { useInboxCount, useStatus } from "./api/queries";
import { SessionList } from "./chat/SessionList";
import { shortcuts, showShortcuts, useShortcutsShown } from "./keyboard";
import { Icon } from "./parts/Icon";
import { Logo } from "./parts/Logo";
import { Sheet } from "./parts/Sheet";
import { places } from "./places";
import { Link, usePath } from "./router";
import { Palette } from "./search/Palette";
import { useNow } from "./time/clock";
import { zoneName } from "./time/format";

export function Frame({ children }: { children: ReactNode }) {
  const main = useRef<HTMLElement>(null);
  const path = usePath();
  useEffect(() => void main.current?.scrollTo(0, 0), [path]);
  useHeadingFocus(main, path);
  return (
    <div className="flex h-dvh flex-col md:flex-row">
      <a href="#main" className="sr-only z-50 rounded bg-paper p-3 focus:not-sr-only focus:absolute">
        Skip to the page
      </a>
      <aside className="hidden w-[17rem] flex-none flex-col border-r md:flex" aria-label="Places and conversations">
        <div className="flex items-center gap-2.5 px-5 pt-5 pb-4">
          <Logo />
          <span className="text-large font-semibold tracking-tight">Homing</span>
        </div>
        <nav aria-label="Main" className="px-2.5">
          <Places side />
        </nav>
        <div className="mt-4 flex min-h-0 flex-1 flex-col border-t">
          <SessionList />
        </div>
        <Foot />
      </aside>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <ConnectionBar />
        <main
          ref={main}
          id="main"
          tabIndex={-1}
          className="relative min-h-0 min-w-0 flex-1 overflow-y-auto outline-none"
        >
          {children}
        </main>
      </div>
      <nav aria-label="Main" className="flex flex-none border-t pb-[env(safe-area-inset-bottom)] md:hidden">
        <Places />
      </nav>
      <Shortcuts />
      <Palette />
    </div>
  );
}

const HEADING_MS = 5000;

/** After a change of page the focus is at its heading, unless the page put it elsewhere or one went on meanwhile. */
function useHeadingFocus(main: RefObject<HTMLElement | null>, path: string) {
  const before = useRef(path);
  useEffect(() => {
    const box = main.current;
    if (before.current === path || !box) return;
    before.current = path;
    const left = new AbortController();
    const observer = new MutationObserver(attempt);
    const timer = window.setTimeout(stop, HEADING_MS);

    function stop() {
      left.abort();
      observer.disconnect();
      window.clearTimeout(timer);
    }

    function attempt() {
      const active = document.activeElement;
      // The page before may be hidden and still there, with the focus in it, until this one is loaded.
      const inPage = active !== box && box?.contains(active) && active?.checkVisibility();
      if (inPage || active?.closest("dialog")) return stop();
      const heading = [...(box?.querySelectorAll("h1") ?? [])].find((one) => one.checkVisibility());
      if (!heading) return;
      stop();
      heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    }

    observer.observe(box, { childList: true, subtree: true });
    for (const event of ["keydown", "pointerdown"])
      document.addEventListener(event, stop, { signal: left.signal, capture: true });
    attempt();
    return stop;
  }, [main, path]);
}

function Places({ side = false }: { side?: boolean }) {
  const room = usePath().split("/")[1] ?? "";
  const status = useStatus().data;
  const attention: Record<string, number> = {
    "/inbox": useInboxCount(),
    "/automations": status?.jobs.attention ?? 0,
    "/deliveries": status?.deliveries.dead ?? 0,
  };
  const shown = places.filter(({ sideOnly }) => side || !sideOnly);
  return shown.map(({ to, name, icon, rooms }) => {
    const here = rooms.includes(room);
    const count = attention[to] ?? 0;
    const look = side
      ? `flex items-center gap-3 rounded-md px-2.5 py-1.5 ${here ? "bg-hover font-semibold" : "text-mute hover:bg-tint hover:text-ink"}`
      : `relative flex min-w-0 flex-1 flex-col items-center gap-0.5 px-0.5 py-1.5 text-[0.72rem] ${here ? "font-semibold text-ink" : "text-mute"}`;
    return (
      <Link key={to} to={to} className={look} aria-current={here ? "page" : undefined}>
        <Icon name={icon} size={side ? 18 : 20} />
        <span className="truncate">{name}</span>
        {count > 0 && <Count count={count} side={side} of={name} />}
      </Link>
    );
  });
}

const countWord: Record<string, string> = { Deliveries: "undelivered", Inbox: "to look at" };

function Count({ count, side, of }: { count: number; side: boolean; of: string }) {
  const place = side ? "ml-auto" : "absolute top-0.5 left-1/2 ml-2";
  return (
    <span className={`rounded-full bg-bad px-1.5 text-fine leading-[1.15rem] font-semibold text-paper ${place}`}>
      {count > 99 ? "99+" : count}
      <span className="sr-only">{` ${countWord[of] ?? "need you"}`}</span>
    </span>
  );
}

function Foot() {
  return (
    <div className="flex items-center justify-between border-t py-1.5 pr-2 pl-5 text-fine text-mute">
      <ServerClock />
      <button type="button" className="icon-button" aria-label="Keyboard shortcuts" onClick={() => showShortcuts(true)}>
        <Icon name="keyboard" />
      </button>
    </div>
  );
}

/** The server's clock, for it is the one that fires. */
function ServerClock() {
  const now = useNow();
  const zone = useStatus().data?.timezone;
  if (!zone) return <span />;
  return (
    <span aria-label="The server's clock">
      {new Intl.DateTimeFormat("en-GB", {
        timeZone: zone,
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit",
      }).format(now)}{" "}
      <span className="zone">{zoneName(zone)}</span>
    </span>
  );
}

/** A lost connection is said once it lasts, not at every blink. */
function ConnectionBar() {
  const connection = useConnection();
  const [since, setSince] = useState<{ connection: string; at: number }>({ connection, at: performance.now() });
  useNow();
  if (since.connection !== connection) setSince({ connection, at: performance.now() });
  if (connection === "live" || performance.now() - since.at < 1200) return null;
  return (
    <div role="status" className="flex items-center justify-center gap-2 bg-wait-tint px-4 py-1 text-small text-wait">
      <svg viewBox="0 0 12 12" width="11" height="11" aria-hidden="true">
        <circle
          className="turning"
          cx="6"
          cy="6"
          r="4.500"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.600"
          strokeDasharray="18 10"
        />
      </svg>
      {connection === "lost"
        ? "The server is out of reach. Reconnecting; nothing is lost."
        : "Connecting to the server."}
    </div>
  );
}

function Shortcuts() {
  const shown = useShortcutsShown();
  if (!shown) return null;
  return (
    <Sheet title="Keyboard" onClose={() => showShortcuts(false)}>
      <dl className="divide-y">
        {shortcuts.map(([keys, does]) => (
          <div key={keys} className="flex items-center gap-4 py-1.5">
            <dt className="w-28 flex-none">
              {keys.split(" ").map((key) => (
                <kbd key={key} className="mr-1 rounded border px-1.5 py-0.5 font-mono text-fine">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd className="text-mute">{does}</dd>
          </div>
        ))}
      </dl>
    </Sheet>
  );
}
