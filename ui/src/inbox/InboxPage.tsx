// What a person should look at: what arrived unread, requests and questions that wait for an answer, and what failed.
import type { ReactNode } from "react";
import { flat, useInbox, useMyZone, useOpenQuestions } from "../api/queries";
import type { InboxItem } from "../api/types";
import { QuestionCard } from "../chat/QuestionCard";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Glyph } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { LoadMore } from "../parts/LoadMore";
import { SessionName } from "../parts/SessionName";
import { useTitle } from "../parts/useTitle";
import { plainOf } from "../parts/words";
import { Link, pathTo } from "../router";
import { Stamp } from "../time/Time";
import { useSee } from "./seen";

export default function InboxPage() {
  useTitle("Inbox");
  const list = useInbox();
  const see = useSee();
  const items = flat(list.data);
  const waiting = items.filter((item) => item.kind === "approval" || item.kind === "question");
  const arrived = items.filter((item) => item.kind === "unread");
  const failed = items.filter((item) => item.kind === "failure");
  return (
    <div className="page narrow">
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h1>Inbox</h1>
        <span className="ml-auto flex gap-x-4 text-small">
          <Link to="/deliveries" className="link md:hidden">
            Deliveries
          </Link>
          <Link to="/approvals" className="link">
            All approvals
          </Link>
        </span>
        {(arrived.length > 0 || failed.some((item) => !item.seen)) && (
          <button type="button" className="button" onClick={() => void see()}>
            <Icon name="check" size={15} /> Mark all as seen
          </button>
        )}
      </header>
      {list.isPending && <Loading />}
      {list.isError && !list.data && <LoadError error={list.error} again={() => void list.refetch()} />}
      {list.data && items.length === 0 && (
        <EmptyState icon="inbox" title="Nothing needs you">
          What arrives while you are away, what an agent asks you and what fails: you will find it here.
        </EmptyState>
      )}
      {waiting.length > 0 && (
        <Part title="Waiting for you">
          {waiting.map((item) =>
            item.kind === "question" ? <AskedQuestion key={item.id} item={item} /> : <Row key={item.id} item={item} />,
          )}
        </Part>
      )}
      {arrived.length > 0 && (
        <Part title="New in your conversations">
          {arrived.map((item) => (
            <Arrived key={item.id} item={item} />
          ))}
        </Part>
      )}
      {failed.length > 0 && (
        <Part title="Failed">
          {failed.map((item) => (
            <Row key={item.id} item={item} />
          ))}
        </Part>
      )}
      <LoadMore has={list.hasNextPage} busy={list.isFetchingNextPage} load={() => void list.fetchNextPage()} />
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="mt-6">
      <h2 className="mb-2">{title}</h2>
      <ul aria-label={title} className="border-t">
        {children}
      </ul>
    </section>
  );
}

function Row({ item }: { item: InboxItem }) {
  const see = useSee();
  const failure = item.kind === "failure";
  return (
    <li className="row grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-3 border-b py-2.5">
      <Glyph shape={failure ? "error" : "waiting"} className="translate-y-px" />
      <div className="min-w-0">
        <Link
          to={placeOf(item)}
          className={`[overflow-wrap:anywhere] hover:underline ${item.seen ? "" : "font-semibold"}`}
          onClick={() => void (isUndelivered(item) && see(item))}
        >
          {item.title}
        </Link>
        <Where item={item} />
      </div>
    </li>
  );
}

/** One conversation: its newest words lead to the first message that is unread. */
function Arrived({ item }: { item: InboxItem }) {
  const see = useSee();
  return (
    <li className="row grid grid-cols-[auto_minmax(0,1fr)_auto] items-baseline gap-x-3 border-b py-2.5">
      <Glyph shape="ok" className="translate-y-px" />
      <div className="min-w-0">
        <Link
          to={item.seq == null ? pathTo.chat(item.session_key) : pathTo.message(item.session_key, item.seq)}
          className="line-clamp-2 font-semibold [overflow-wrap:anywhere] hover:underline"
        >
          {plainOf(item.title, 200)}
        </Link>
        <Where item={item} more={item.count - 1} />
      </div>
      <button type="button" className="button" data-look="plain" onClick={() => void see(item)}>
        <span aria-hidden="true">Mark as read</span>
        <span className="sr-only">{`Mark as read: ${plainOf(item.title, 60)}`}</span>
      </button>
    </li>
  );
}

/** It has no page of its own that would note it. */
const isUndelivered = (item: InboxItem) => item.kind === "failure" && item.job_id === null;

/** Where an item is looked at: the request, the run, or what could not be delivered. */
function placeOf(item: InboxItem): string {
  if (item.kind === "approval") return pathTo.approval(item.id);
  if (item.kind === "question") return pathTo.chat(item.session_key);
  return isUndelivered(item) ? "/deliveries?state=dead" : pathTo.run(item.id);
}

function Where({ item, more = 0 }: { item: InboxItem; more?: number }) {
  const zone = useMyZone();
  return (
    <p className="text-small text-mute">
      {!item.seen && <span className="sr-only">Not seen yet. </span>}
      <SessionName of={item.session_key} title={item.session_title} />, <Stamp at={item.at} zone={zone} />
      {more > 0 && `, and ${more} more`}
    </p>
  );
}

/** A question is answered where it is read; its conversation is one click away. */
function AskedQuestion({ item }: { item: InboxItem }) {
  const see = useSee();
  const question = useOpenQuestions(true).data?.find((one) => one.id === item.id);
  if (!question) return <Row item={item} />;
  return (
    <li className="border-b py-3">
      <QuestionCard question={question} />
      <p className="mt-1 text-small text-mute">
        Asked in{" "}
        <Link to={pathTo.chat(item.session_key)} className="link" onClick={() => void see(item)}>
          <SessionName of={item.session_key} title={item.session_title} />
        </Link>
        , <Time at={item.at} />
      </p>
    </li>
  );
}

function Time({ at }: { at: string }) {
  return <Stamp at={at} zone={useMyZone()} />;
}
