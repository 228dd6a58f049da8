// Conversations at the side: newest activity first, found by title or words.
import { useDeferredValue, useState } from "react";
import { sentenceOf } from "../api/client";
import { flat, useSessions } from "../api/queries";
import type { Session } from "../api/types";
import { Glyph } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { LoadMore } from "../parts/LoadMore";
import { PagedList } from "../parts/PagedList";
import { ServerText } from "../parts/ServerText";
import { Tooltip } from "../parts/Tooltip";
import { askedOf, plural, titleOf } from "../parts/words";
import { Link, pathTo, usePath } from "../router";

export function SessionList({ onChoose }: { onChoose?: () => void }) {
  const [q, setQ] = useState("");
  const asked = useDeferredValue(q.trim());
  const list = useSessions(asked);
  const sessions = flat(list.data);
  return (
    <>
      <div className="flex items-center gap-1 py-2 pr-2 pl-3">
        <label className="flex min-w-0 flex-1 items-center gap-2 rounded-md px-2 text-mute focus-within:bg-tint">
          <Icon name="search" size={16} className="flex-none" />
          <input
            type="search"
            data-search
            aria-label="Search conversations"
            placeholder="Search"
            className="h-8 w-full min-w-0 bg-transparent text-ink outline-none"
            value={q}
            onChange={(event) => setQ(event.target.value)}
          />
        </label>
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
          <p className="px-2.5 py-3 text-small text-mute">
            {asked ? `Nothing about “${asked}”.` : "Your conversations will appear here."}
          </p>
        )}
        <PagedList
          label="Conversations"
          busy={false}
          pages={(list.data?.pages ?? []).map((page) => page.items)}
          row={(session) => <SessionRow key={session.key} session={session} onChoose={onChoose} />}
        />
        <LoadMore has={list.hasNextPage} busy={list.isFetchingNextPage} load={() => void list.fetchNextPage()} />
      </div>
    </>
  );
}

function SessionRow({ session, onChoose }: { session: Session; onChoose?: () => void }) {
  const to = pathTo.chat(session.key);
  const here = usePath() === to;
  const { enabled, total } = session.automations;
  return (
    <li>
      <Link
        to={to}
        onClick={onChoose}
        aria-current={here ? "page" : undefined}
        className={`block rounded-md px-2.5 py-1.5 ${here ? "bg-hover" : "hover:bg-tint"}`}
      >
        <span className="flex items-center gap-2">
          <span className={`truncate ${here ? "font-semibold" : ""}`}>{titleOf(session)}</span>
          {session.state === "running" && <Glyph shape="running" size={10} label="Running" />}
          {total > 0 && (
            <span
              className="ml-auto flex flex-none items-center gap-1 text-fine text-mute"
              title={`${plural(total, "automation")}, ${enabled} active`}
            >
              <Icon name="clock" size={13} />
              {total}
              <span className="sr-only"> automations</span>
            </span>
          )}
        </span>
        {session.last_message && (
          <span className="block truncate text-small text-mute">{oneLine(askedOf(session.last_message))}</span>
        )}
      </Link>
    </li>
  );
}

const oneLine = (text: string) =>
  text
    .slice(0, 160)
    .replace(/[*_`#>]+/g, "")
    .replace(/\s+/g, " ");

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
