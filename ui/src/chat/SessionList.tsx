// Conversations at the side: pinned ones, then newest activity first, under their days.
import { useState } from "react";
import { sentenceOf } from "../api/client";
import { flat, useArchived, useMyZone, usePinned, useSessions } from "../api/queries";
import type { Session } from "../api/types";
import { showPalette } from "../keyboard";
import { ChannelMark } from "../parts/ChannelMark";
import { Glyph } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { LoadMore } from "../parts/LoadMore";
import { PagedList } from "../parts/PagedList";
import { ServerText } from "../parts/ServerText";
import { Tooltip } from "../parts/Tooltip";
import { askedOf, plainOf, plural, titleOf } from "../parts/words";
import { Link, pathTo, usePath } from "../router";
import { nowMs } from "../time/clock";
import { stampOf, zoneName } from "../time/format";
import { headings, shortTime } from "./dateGroups";

const activeAt = (session: Session) => Date.parse(session.last_message?.created_at ?? session.created_at);

export function SessionList({ onChoose }: { onChoose?: () => void }) {
  const list = useSessions();
  const sessions = flat(list.data);
  const pinned = flat(usePinned().data).filter((session) => session.pinned);
  const zone = useMyZone();
  const pages = (list.data?.pages ?? []).map((page) => page.items.filter((session) => !session.pinned));
  const shown = pages.flat();
  const names = headings(shown.map(activeAt), nowMs(), zone);
  const headed = new Map(shown.map((session, index) => [session.key, names[index] ?? null]));
  return (
    <>
      <div className="flex items-center gap-1 py-2 pr-2 pl-3">
        <button
          type="button"
          className="flex h-8 min-w-0 flex-1 items-center gap-2 rounded-md px-2 text-mute hover:bg-tint hover:text-ink"
          aria-keyshortcuts="Control+K Meta+K"
          onClick={() => {
            onChoose?.();
            showPalette(true);
          }}
        >
          <Icon name="search" size={16} className="flex-none" />
          Search
          <kbd aria-hidden="true" className="ml-auto hidden font-mono text-fine md:inline">
            Ctrl K
          </kbd>
        </button>
        <Tooltip text="New conversation (n)">
          <Link to="/chat" className="icon-button" aria-label="New conversation" onClick={onChoose}>
            <Icon name="plus" />
          </Link>
        </Tooltip>
      </div>
      <div data-scrolls className="min-h-0 flex-1 overflow-y-auto px-2.5 pb-3">
        {list.isPending && <Waiting />}
        {list.isError && sessions.length === 0 && (
          <p className="px-2.5 py-3 text-small text-mute">
            <ServerText text={sentenceOf(list.error)} />{" "}
            <button type="button" className="link" onClick={() => void list.refetch()}>
              Try again
            </button>
          </p>
        )}
        {list.isSuccess && sessions.length === 0 && (
          <p className="px-2.5 py-3 text-small text-mute">Your conversations will appear here.</p>
        )}
        {pinned.length > 0 && (
          <ul aria-label="Pinned conversations">
            {pinned.map((session, index) => (
              <SessionRow
                key={session.key}
                session={session}
                zone={zone}
                heading={index === 0 ? "Pinned" : null}
                onChoose={onChoose}
              />
            ))}
          </ul>
        )}
        <PagedList
          label="Conversations"
          busy={false}
          pages={pages}
          row={(session) => (
            <SessionRow
              key={session.key}
              session={session}
              zone={zone}
              heading={headed.get(session.key) ?? null}
              onChoose={onChoose}
            />
          )}
        />
        <LoadMore has={list.hasNextPage} busy={list.isFetchingNextPage} load={() => void list.fetchNextPage()} />
        {list.isSuccess && !list.hasNextPage && <Archived zone={zone} onChoose={onChoose} />}
      </div>
    </>
  );
}

function Archived({ zone, onChoose }: { zone: string; onChoose?: () => void }) {
  const [open, setOpen] = useState(false);
  const list = useArchived(open);
  const sessions = flat(list.data);
  return (
    <div className="mt-2">
      <button
        type="button"
        className="flex w-full items-center gap-2 rounded-md px-2.5 py-1 text-small text-mute hover:bg-tint hover:text-ink"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name="archive" size={14} /> Archived
      </button>
      {open && list.isSuccess && sessions.length === 0 && (
        <p className="px-2.5 py-1 text-small text-mute">Nothing is archived.</p>
      )}
      {open && sessions.length > 0 && (
        <ul aria-label="Archived conversations">
          {sessions.map((session) => (
            <SessionRow key={session.key} session={session} zone={zone} heading={null} onChoose={onChoose} />
          ))}
        </ul>
      )}
      {open && (
        <LoadMore has={list.hasNextPage} busy={list.isFetchingNextPage} load={() => void list.fetchNextPage()} />
      )}
    </div>
  );
}

type SessionRowProps = { session: Session; zone: string; heading: string | null; onChoose?: () => void };

function SessionRow({ session, zone, heading, onChoose }: SessionRowProps) {
  const at = activeAt(session);
  const to = pathTo.chat(session.key);
  const here = usePath() === to;
  const { enabled, total } = session.automations;
  return (
    <li>
      {heading && <h2 className="px-2.5 pt-3 pb-1">{heading}</h2>}
      <Link
        to={to}
        onClick={onChoose}
        aria-current={here ? "page" : undefined}
        className={`block rounded-md px-2.5 py-1.5 ${here ? "bg-hover" : "hover:bg-tint"}`}
      >
        <span className="flex items-center gap-2">
          <span className={`truncate ${here || session.unread > 0 ? "font-semibold" : ""}`}>{titleOf(session)}</span>
          <ChannelMark session={session} />
          {session.unread > 0 && (
            <span className="flex-none rounded-full bg-accent px-1.5 text-fine leading-[1.15rem] font-semibold text-paper">
              {session.unread > 99 ? "99+" : session.unread}
              <span className="sr-only"> unread</span>
            </span>
          )}
          {session.state === "running" && <Glyph shape="running" size={10} label="Running" />}
          <span className="ml-auto" />
          {enabled > 0 && (
            <span
              className="flex flex-none items-center gap-1 text-fine text-mute"
              title={`${plural(enabled, "active automation")} of ${total}`}
            >
              <Icon name="clock" size={13} />
              {enabled}
              <span className="sr-only">{enabled === 1 ? " automation" : " automations"}</span>
            </span>
          )}
          <time
            dateTime={new Date(at).toISOString()}
            title={`${stampOf(at, zone, nowMs())} ${zoneName(zone)}`}
            className="flex-none text-fine text-mute"
          >
            {shortTime(at, nowMs(), zone)}
          </time>
        </span>
        {session.last_message && (
          <span className="block truncate text-small text-mute">{plainOf(askedOf(session.last_message))}</span>
        )}
      </Link>
    </li>
  );
}

function Waiting() {
  return (
    <div role="status" aria-label="Loading conversations" className="space-y-4 px-2.5 py-3">
      {[70, 50, 62].map((width) => (
        <div key={width}>
          <div className="skeleton mb-1.5 h-3.5" style={{ width: `${width}%` }} />
          <div className="skeleton h-3 w-full" />
        </div>
      ))}
    </div>
  );
}
