// What was carried to people, what is still tried, and what could not be delivered.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { placeDelivery } from "../api/cache";
import { retryDelivery } from "../api/operations";
import { useDeliveries, useMyZone, useStatus } from "../api/queries";
import type { Delivery, DeliveryState } from "../api/types";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Glyph, shapeOfDelivery } from "../parts/Glyph";
import { LoadMore } from "../parts/LoadMore";
import { PagedList } from "../parts/PagedList";
import { ServerText } from "../parts/ServerText";
import { SessionName } from "../parts/SessionName";
import { toast, toastError } from "../parts/toasts";
import { useTitle } from "../parts/useTitle";
import { plainOf, plural } from "../parts/words";
import { Link, pathTo, setSearch, useSearch } from "../router";
import { Relative, Stamp } from "../time/Time";

const tabs: [state: DeliveryState | "", name: string][] = [
  ["", "All"],
  ["pending", "On the way"],
  ["dead", "Undelivered"],
  ["sent", "Delivered"],
];

export default function DeliveriesPage() {
  useTitle("Deliveries");
  const asked = useSearch().get("state");
  const state = tabs.find(([value]) => value === asked)?.[0] ?? "";
  const list = useDeliveries(state);
  const counts = useStatus().data?.deliveries;
  const pages = (list.data?.pages ?? []).map((page) =>
    page.items.filter((delivery) => state === "" || delivery.state === state),
  );
  const none = pages.every((deliveries) => deliveries.length === 0);
  return (
    <div className="page">
      <h1>Deliveries</h1>
      <nav aria-label="Filter by state" className="mt-4 flex gap-1 overflow-x-auto border-b">
        {tabs.map(([value, name]) => {
          const here = value === state;
          const count = value === "pending" ? counts?.pending : value === "dead" ? counts?.dead : undefined;
          return (
            <button
              key={value}
              type="button"
              aria-pressed={here}
              className={`-mb-px flex flex-none items-center gap-2 border-b-2 px-2.5 py-2 ${here ? "border-ink font-semibold" : "border-transparent text-mute hover:text-ink"}`}
              onClick={() => setSearch({ state: value })}
            >
              {name}{" "}
              {count !== undefined && (
                <span className={`font-normal ${value === "dead" && count > 0 ? "text-bad" : "text-mute"}`}>
                  {count}
                </span>
              )}
            </button>
          );
        })}
      </nav>
      {list.isPending && <Loading />}
      {list.isError && none && <LoadError error={list.error} again={() => void list.refetch()} />}
      {list.isSuccess && none && (
        <EmptyState icon="delivery" title={state === "dead" ? "Everything arrived" : "Nothing here"}>
          {state === "dead"
            ? "No message is undelivered."
            : "Each message sent to an address outside Homing appears here, with its attempts."}
        </EmptyState>
      )}
      <PagedList
        label="Deliveries"
        busy={list.isFetching}
        pages={pages}
        row={(delivery) => <Row key={delivery.id} delivery={delivery} />}
      />
      <LoadMore has={list.hasNextPage} busy={list.isFetchingNextPage} load={() => void list.fetchNextPage()} />
    </div>
  );
}

function Row({ delivery }: { delivery: Delivery }) {
  const zone = useMyZone();
  const { state, attempts } = delivery;
  return (
    <li className="row grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 border-b py-2.5">
      <Glyph shape={shapeOfDelivery(state)} label={state} />
      <div className="min-w-0">
        <p className="flex flex-wrap items-baseline gap-x-3">
          <Link
            to={
              delivery.seq !== null
                ? pathTo.message(delivery.session_key, delivery.seq)
                : pathTo.chat(delivery.session_key)
            }
            className="font-semibold hover:underline"
          >
            <SessionName of={delivery.session_key} title={delivery.session_title} />
          </Link>
          <span className="text-small text-mute [overflow-wrap:anywhere]">to {delivery.address}</span>
        </p>
        {delivery.first_words && <p className="truncate text-small">{plainOf(delivery.first_words)}</p>}
        <p className="text-small text-mute">
          {delivery.skipped ? (
            `not sent: ${delivery.skipped}`
          ) : state === "sent" && delivery.sent_at ? (
            <>
              delivered <Stamp at={delivery.sent_at} zone={zone} seconds />
              {attempts > 1 && `, at attempt ${attempts}`}
            </>
          ) : (
            <>
              {state === "dead"
                ? `given up after ${plural(attempts, "attempt")}`
                : `${plural(attempts, "attempt")} so far`}
              {state === "pending" && delivery.next_attempt_at && (
                <>
                  , next <Relative at={delivery.next_attempt_at} zone={zone} />
                </>
              )}
            </>
          )}
          {delivery.parts > 1 && `, ${delivery.parts_sent} of ${delivery.parts} parts`}
          {delivery.unsure && `, may have arrived ${state === "sent" ? "twice" : "already"}`}
        </p>
        {delivery.error && (
          <p className="text-small text-bad [overflow-wrap:anywhere]">
            <ServerText text={delivery.error} />
          </p>
        )}
      </div>
      {state === "dead" && <RetryButton delivery={delivery} />}
    </li>
  );
}

function RetryButton({ delivery }: { delivery: Delivery }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  async function retry() {
    setBusy(true);
    try {
      placeDelivery(client, await retryDelivery(delivery.id));
      toast({ text: `Tried again: ${delivery.address}` });
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  }
  return (
    <button
      type="button"
      className="button"
      disabled={busy}
      aria-label={`Retry delivery to ${delivery.address}`}
      onClick={() => void retry()}
    >
      Retry
    </button>
  );
}
