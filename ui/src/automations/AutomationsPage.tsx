// All automations: what they do, how they fared, when they come next.
import { memo, useCallback, useState } from "react";
import type { JobSort } from "../api/operations";
import { useJobs, useSessionName, useStatus } from "../api/queries";
import type { Job, JobStatus } from "../api/types";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Glyph, shapeOfJob, shapeOfStatus } from "../parts/Glyph";
import { Icon } from "../parts/Icon";
import { LoadMore } from "../parts/LoadMore";
import { PagedList } from "../parts/PagedList";
import { RunStrip } from "../parts/RunStrip";
import { Search } from "../parts/Search";
import { ServerText } from "../parts/ServerText";
import { SessionName } from "../parts/SessionName";
import { Tooltip } from "../parts/Tooltip";
import { useMedia } from "../parts/useMedia";
import { useTitle } from "../parts/useTitle";
import { attentionOf, capital, statusOf } from "../parts/words";
import { Link, pathTo, setSearch, useSearch } from "../router";
import { durationOf } from "../time/format";
import { Relative } from "../time/Time";
import { useJobActions } from "./actions";
import { BulkBar } from "./BulkBar";
import { Failures } from "./Failures";
import { JobMenu } from "./JobMenu";

const statuses: JobStatus[] = ["active", "attention", "paused", "done"];
const sorts: [value: JobSort, name: string][] = [
  ["next", "Next run"],
  ["last", "Last run"],
  ["name", "Name"],
  ["updated", "Last changed"],
];

export default function AutomationsPage() {
  useTitle("Automations");
  const search = useSearch();
  const status = statuses.find((one) => one === search.get("status")) ?? "";
  const q = search.get("q") ?? "";
  const sort = sorts.find(([value]) => value === search.get("sort"))?.[0] ?? "next";
  const sessionKey = search.get("session") ?? "";
  const system = search.get("system") === "yes";
  const list = useJobs({
    ...(status && { status }),
    ...(q && { q }),
    ...(sessionKey && { session_key: sessionKey }),
    ...(system && { system }),
    sort,
    recent: 30,
  });
  const pages = (list.data?.pages ?? []).map((page) =>
    page.items.filter((job) => status === "" || job.status === status),
  );
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback(
    (id: string) =>
      setSelected((had) => {
        const now = new Set(had);
        if (!now.delete(id)) now.add(id);
        return now;
      }),
    [],
  );
  const mine = pages.flat().filter((job) => job.kind !== "system");
  const none = pages.every((jobs) => jobs.length === 0);
  const roomy = useMedia("(min-width: 70rem)");
  const filtered = status !== "" || q !== "" || sessionKey !== "" || system;
  const newLink = `/automations/new${sessionKey ? `?session=${encodeURIComponent(sessionKey)}` : ""}`;

  return (
    <div className="page wide">
      <header className="flex items-center justify-between gap-4">
        <h1>Automations</h1>
        <Link to={newLink} className="button" data-look="main">
          <Icon name="plus" size={16} /> New automation
        </Link>
      </header>
      <StatusTabs status={status} />
      <div className="flex items-center gap-3 border-b">
        <Search label="Search automations" value={q} onChange={(text) => setSearch({ q: text })} />
        {sessionKey && (
          <button
            type="button"
            className="flex items-center gap-1.5 rounded-full border px-2.5 py-0.5 text-small"
            onClick={() => setSearch({ session: null })}
          >
            <SessionName of={sessionKey} />
            <Icon name="close" size={13} />
            <span className="sr-only">Show those of all conversations</span>
          </button>
        )}
        <label className="flex flex-none items-center gap-1.5 text-small text-mute">
          <span className="hidden sm:inline">Sort by</span>
          <select
            aria-label="Sort by"
            className="h-9 bg-transparent text-ink outline-offset-0"
            value={sort}
            onChange={(event) => setSearch({ sort: event.target.value === "next" ? null : event.target.value })}
          >
            {sorts.map(([value, name]) => (
              <option key={value} value={value} className="bg-paper">
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      {(status === "" || status === "attention") && q === "" && !system && <Failures sessionKey={sessionKey} />}
      <BulkBar
        jobs={mine.filter((job) => selected.has(job.id))}
        all={mine}
        select={(ids) => setSelected(new Set(ids))}
      />
      {list.isPending && <Loading rows={7} />}
      {list.isError && none && <LoadError error={list.error} again={() => void list.refetch()} />}
      {list.isSuccess && none && (filtered ? <NothingFound /> : <NothingYet />)}
      {!none && <Heads />}
      <PagedList
        label="Automations"
        busy={list.isFetching}
        pages={pages}
        row={(job) => <JobRow key={job.id} job={job} roomy={roomy} selected={selected.has(job.id)} toggle={toggle} />}
      />
      <LoadMore has={list.hasNextPage} busy={list.isFetchingNextPage} load={() => void list.fetchNextPage()} />
      <p className="mt-4 text-small text-mute">
        <button type="button" className="link" onClick={() => setSearch({ system: system ? null : "yes" })}>
          {system ? "Show your automations" : "Show Homing’s own jobs"}
        </button>
        {system && ": heartbeats of agents and the memory upkeep, which nobody changes here"}
      </p>
    </div>
  );
}

function StatusTabs({ status }: { status: string }) {
  const { jobs: counts, status_words: words } = useStatus().data ?? {};
  const all = counts && statuses.reduce((sum, one) => sum + counts[one], 0);
  const tabs: [value: string, name: string, count: number | undefined][] = [
    ["", "All", all],
    ...statuses.map((one): [string, string, number | undefined] => [one, capital(words?.[one] ?? one), counts?.[one]]),
  ];
  return (
    <nav aria-label="Filter by status" className="mt-4 flex gap-1 overflow-x-auto border-b">
      {tabs.map(([value, name, count]) => {
        const here = value === status;
        return (
          <button
            key={value}
            type="button"
            aria-pressed={here}
            className={`-mb-px flex flex-none items-center gap-2 border-b-2 px-2.5 py-2 ${here ? "border-ink font-semibold" : "border-transparent text-mute hover:text-ink"}`}
            onClick={() => setSearch({ status: value })}
          >
            {value !== "" && <Glyph shape={shapeOfStatus(value as JobStatus)} size={11} />}
            {name}
            <span className={`font-normal ${value === "attention" && count ? "font-semibold text-bad" : "text-mute"}`}>
              {count ?? ""}
            </span>
          </button>
        );
      })}
    </nav>
  );
}

/** What the columns are; on narrow screens each line says it itself. */
function Heads() {
  return (
    <p
      aria-hidden="true"
      className="hidden justify-between border-b py-1.5 text-fine text-mute lg:flex lg:pr-[4.3rem] lg:pl-[3.4rem]"
    >
      <span className="flex-1">Automation</span>
      <span className="px-3">Runs</span>
      <span className="w-[8rem]">Next</span>
      <span className="w-[11.25rem]">Last</span>
    </p>
  );
}

type JobRowProps = { job: Job; roomy: boolean; selected: boolean; toggle: (id: string) => void };

/** One line on a wide screen, so that many are seen at once. */
const JobRow = memo(function JobRow({ job, roomy, selected, toggle }: JobRowProps) {
  const zone = job.schedule.tz ?? "UTC";
  return (
    <li
      className={`row dense grid grid-cols-[auto_minmax(0,1fr)_auto] items-start gap-x-3 border-b py-3 lg:grid-cols-[auto_minmax(0,1fr)_auto_7.25rem_10.5rem_auto] lg:items-center lg:py-px ${selected ? "bg-accent-tint" : ""}`}
    >
      <span className="flex items-center gap-x-1">
        <label className="flex size-6 items-center justify-center">
          <input
            type="checkbox"
            aria-label={`Select ${job.name}`}
            disabled={job.kind === "system"}
            checked={selected}
            onChange={() => toggle(job.id)}
          />
        </label>
        <Glyph shape={shapeOfJob(job)} size={13} label={statusOf(job)} />
      </span>
      <div className="min-w-0 lg:flex lg:items-baseline lg:gap-x-2.5">
        <p className="flex min-w-0 flex-col items-start gap-x-2.5 sm:flex-row sm:items-baseline lg:max-w-[65%] lg:flex-none">
          <Link
            to={pathTo.job(job.id)}
            className="max-w-full font-semibold [overflow-wrap:anywhere] hover:underline sm:truncate"
          >
            {job.name}
          </Link>
          <SessionChip job={job} />
        </p>
        {job.status === "attention" && (
          <p className="min-w-0 text-small text-bad lg:truncate" title={attentionOf(job)}>
            <ServerText text={attentionOf(job)} />
          </p>
        )}
        <p className="min-w-0 text-small text-mute lg:truncate">{job.words}</p>
      </div>
      <div
        className={`col-start-2 row-start-2 mt-1 lg:col-start-auto lg:row-start-auto lg:mt-0 lg:block lg:px-3 ${job.recent?.length ? "" : "hidden"}`}
      >
        <RunStrip runs={job.recent ?? []} zone={zone} room={roomy ? 30 : 20} />
      </div>
      <div className="col-start-2 row-start-3 flex items-baseline text-small lg:col-start-auto lg:row-start-auto lg:block">
        <span className="w-10 flex-none text-fine text-mute lg:hidden">Next</span>
        <NextRun job={job} zone={zone} />
      </div>
      <div className="col-start-2 row-start-4 flex items-baseline text-small lg:col-start-auto lg:row-start-auto lg:block">
        <span className="w-10 flex-none text-fine text-mute lg:hidden">Last</span>
        <LastRun job={job} zone={zone} />
      </div>
      <div className="col-start-3 row-start-1 flex min-w-[4.3rem] justify-end lg:col-start-auto lg:row-start-auto">
        <RowToggle job={job} />
        <JobMenu job={job} />
      </div>
    </li>
  );
});

function SessionChip({ job: { session_key: sessionKey, session_title: title } }: { job: Job }) {
  const name = useSessionName(sessionKey, title);
  return (
    <Link
      to={pathTo.chat(sessionKey)}
      className="max-w-[9rem] flex-none truncate rounded-full border px-2 text-fine text-mute hover:text-ink"
      aria-label={`Conversation ${name}`}
    >
      {name}
    </Link>
  );
}

function RowToggle({ job }: { job: Job }) {
  const { pause, resume } = useJobActions();
  if (job.kind === "system" || job.status === "done") return null;
  return (
    <Tooltip text={job.enabled ? "Pause" : "Resume"}>
      <button
        type="button"
        className="icon-button"
        aria-label={`${job.enabled ? "Pause" : "Resume"} ${job.name}`}
        onClick={() => void (job.enabled ? pause(job) : resume(job))}
      >
        <Icon name={job.enabled ? "pause" : "play"} size={16} />
      </button>
    </Tooltip>
  );
}

function NextRun({ job, zone }: { job: Job; zone: string }) {
  const next = job.next[0];
  if (job.state.active_run_id)
    return (
      <Link to={pathTo.run(job.state.active_run_id)} className="link">
        {job.state.running_at ? "Running now" : "Waiting"}
      </Link>
    );
  if (!next)
    return <span className="text-mute">{job.enabled || job.status === "done" ? "No more runs" : "Paused"}</span>;
  return <Relative at={next} zone={zone} />;
}

function LastRun({ job, zone }: { job: Job; zone: string }) {
  const {
    last_run_at: at,
    last_status: status,
    last_status_words: words,
    last_duration_ms: took,
    last_run_id: id,
  } = job.state;
  if (!at || !status) return <span className="text-mute">Never ran</span>;
  const word = capital(words ?? status);
  return (
    <span className="flex flex-wrap gap-x-2 lg:flex-nowrap lg:whitespace-nowrap">
      <Relative at={at} zone={zone} />
      <span className={`min-w-0 truncate text-small ${status === "error" ? "text-bad" : "text-mute"}`}>
        {id ? (
          <Link to={pathTo.run(id)} className="hover:underline">
            {word}
          </Link>
        ) : (
          word
        )}
        {took !== null && `, ${durationOf(took)}`}
      </span>
    </span>
  );
}

function NothingFound() {
  const search = useSearch();
  const needsYou = search.get("status") === "attention" && !search.get("q") && !search.get("session");
  return (
    <EmptyState icon={needsYou ? "check" : "search"} title={needsYou ? "Nothing needs you" : "No matches"}>
      <button
        type="button"
        className="link"
        onClick={() => setSearch({ status: null, q: null, session: null, system: null })}
      >
        Show all automations
      </button>
    </EmptyState>
  );
}

function NothingYet() {
  return (
    <EmptyState icon="clock" title="Nothing is scheduled yet">
      Tell the agent what to do and when, in any conversation, or{" "}
      <Link to="/automations/new" className="link">
        make an automation here
      </Link>
      .
    </EmptyState>
  );
}
