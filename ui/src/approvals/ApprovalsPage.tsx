// What agents asked to be allowed, newest first.
import { useApprovals, useMyZone } from "../api/queries";
import type { ApprovalState } from "../api/types";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Icon } from "../parts/Icon";
import { LoadMore } from "../parts/LoadMore";
import { PagedList } from "../parts/PagedList";
import { useTitle } from "../parts/useTitle";
import { Link, setSearch, useSearch } from "../router";
import { ApprovalRow } from "./ApprovalRow";

const tabs: [state: ApprovalState | "", name: string][] = [
  ["", "All"],
  ["pending", "Waiting"],
  ["running", "Running"],
  ["done", "Done"],
  ["failed", "Failed"],
  ["unknown", "Outcome unknown"],
  ["denied", "Denied"],
  ["expired", "Ended"],
];

export default function ApprovalsPage() {
  useTitle("Approvals");
  const zone = useMyZone();
  const asked = useSearch().get("state");
  const state = tabs.find(([value]) => value === asked)?.[0] ?? "";
  const list = useApprovals(state ? { state } : {});
  // One that was answered meanwhile leaves the list it does not belong to any more.
  const pages = (list.data?.pages ?? []).map((page) =>
    page.items.filter((approval) => state === "" || approval.state === state),
  );
  const none = pages.every((approvals) => approvals.length === 0);
  return (
    <div className="page">
      <Link to="/inbox" className="mb-3 inline-flex items-center gap-1 text-small text-mute hover:text-ink">
        <Icon name="back" size={14} /> Inbox
      </Link>
      <h1>Approvals</h1>
      <nav aria-label="Filter by state" className="mt-4 flex gap-1 overflow-x-auto border-b">
        {tabs.map(([value, name]) => (
          <button
            key={value}
            type="button"
            aria-pressed={value === state}
            className={`-mb-px flex-none border-b-2 px-2.5 py-2 ${value === state ? "border-ink font-semibold" : "border-transparent text-mute hover:text-ink"}`}
            onClick={() => setSearch({ state: value })}
          >
            {name}
          </button>
        ))}
      </nav>
      {list.isPending && <Loading />}
      {list.isError && none && <LoadError error={list.error} again={() => void list.refetch()} />}
      {list.isSuccess && none && (
        <EmptyState icon="approve" title={state === "" ? "No agent has asked yet" : "None"}>
          {state === ""
            ? "Where a tool of an agent is set to “Ask”, each of its calls waits here until you answer."
            : "No request is in this state."}
        </EmptyState>
      )}
      <PagedList
        label="Approvals"
        busy={list.isFetching}
        pages={pages}
        row={(approval) => <ApprovalRow key={approval.id} approval={approval} zone={zone} />}
      />
      <LoadMore has={list.hasNextPage} busy={list.isFetchingNextPage} load={() => void list.fetchNextPage()} />
    </div>
  );
}
