// Ctrl-K: go anywhere by its name, find anything by its words. The field keeps the focus; arrows choose, Enter goes.
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { sentenceOf } from "../api/client";
import { useMyZone } from "../api/queries";
import type { Found } from "../api/types";
import { showPalette, usePaletteShown } from "../keyboard";
import { Icon, type IconName } from "../parts/Icon";
import { Sheet } from "../parts/Sheet";
import { plural, titleOf } from "../parts/words";
import { navigate, pathTo } from "../router";
import { nowMs } from "../time/clock";
import { stampOf } from "../time/format";
import { commands, isCalled, LONGEST, piecesOf } from "./palette";
import { usePaletteResults } from "./usePaletteResults";

type Option = { id: string; icon: IconName; name: ReactNode; about?: ReactNode; run: () => void; stays?: boolean };
type Group = { name: string; options: Option[] };

export function Palette() {
  return usePaletteShown() ? <Opened /> : null;
}

const close = () => showPalette(false);

function Opened() {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const results = usePaletteResults(text);
  const groups = useGroups(text, results);
  const options = groups.flatMap((group) => group.options);
  const active = options.find(({ id }) => id === chosen) ?? options[0];
  const list = useRef<HTMLDivElement>(null);
  const [eager, setEager] = useState(false);

  useEffect(() => {
    if (active) list.current?.querySelector(`[id="${CSS.escape(active.id)}"]`)?.scrollIntoView({ block: "nearest" });
  }, [active]);

  function go(option: Option) {
    if (!option.stays) close();
    option.run();
  }

  // Enter before the answer was there: it counts once it is.
  const goWhenSettled = eager && results.settled;
  useEffect(() => {
    if (!goWhenSettled) return;
    setEager(false);
    if (active) go(active);
  });

  function onKeyDown(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && options.length > 0) {
      event.preventDefault();
      const at = active ? options.indexOf(active) : 0;
      setChosen(options[(at + step + options.length) % options.length]?.id ?? null);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const isOfServer = chosen === null && !active?.id.startsWith("command");
      if (isOfServer && !results.settled) setEager(true);
      else if (active) go(active);
    }
  }

  return (
    <Sheet title="Search" palette onClose={close}>
      <div className="flex items-center gap-2 border-b py-1.5 pr-1.5 pl-4 text-mute">
        <Icon name="search" className="flex-none" />
        <input
          data-first
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-autocomplete="list"
          aria-activedescendant={active?.id}
          aria-label="Search everything"
          placeholder="Search, or go to …"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          enterKeyHint="go"
          className="field !border-0 !bg-transparent !px-1 !outline-none"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(null);
            setEager(false);
          }}
          onKeyDown={onKeyDown}
        />
        <button type="button" className="icon-button" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <div
        ref={list}
        id="palette-list"
        role="listbox"
        aria-label="Results"
        tabIndex={-1}
        className="min-h-0 flex-1 overflow-y-auto px-2 py-1.5"
      >
        {groups.map((group) => (
          <div key={group.name} role="group" aria-label={group.name}>
            <p className="px-2.5 pt-2 pb-1 text-fine font-semibold text-mute" aria-hidden="true">
              {group.name}
            </p>
            {group.options.map((option) => (
              <OptionView
                key={option.id}
                option={option}
                active={option === active}
                onPoint={() => setChosen(option.id)}
                onGo={() => go(option)}
              />
            ))}
          </div>
        ))}
      </div>
      <p role="status" className="border-t px-4 py-2 text-small text-mute">
        <Told text={text} results={results} count={options.length} />
      </p>
    </Sheet>
  );
}

type OptionViewProps = { option: Option; active: boolean; onPoint: () => void; onGo: () => void };

function OptionView({ option: { id, icon, name, about }, active, onPoint, onGo }: OptionViewProps) {
  return (
    <div
      id={id}
      role="option"
      aria-selected={active}
      tabIndex={-1}
      className={`flex cursor-pointer gap-3 rounded-md px-2.5 py-1.5 ${active ? "bg-hover" : ""}`}
      onMouseMove={active ? undefined : onPoint}
      onMouseDown={(event) => event.preventDefault()}
      onClick={onGo}
    >
      <Icon name={icon} size={16} className="mt-1 flex-none text-mute" />
      <span className="min-w-0 flex-1">
        <span className="flex items-baseline gap-2">{name}</span>
        {about && <span className="block text-small text-mute [overflow-wrap:anywhere]">{about}</span>}
      </span>
    </div>
  );
}

type Results = ReturnType<typeof usePaletteResults>;

function Told({ text, results, count }: { text: string; results: Results; count: number }) {
  if (results.error) return <span className="text-bad">{sentenceOf(results.error)}</span>;
  const typed = text.trim();
  if (typed === "") return <Hint />;
  if (!results.settled && count === 0) return <>Searching</>;
  return (
    <>
      {count === 0
        ? `No matches for “${typed.length > 60 ? `${typed.slice(0, 60)}…` : typed}”.`
        : plural(count, "result")}
      {typed.length > LONGEST && ` Only the first ${LONGEST.toLocaleString("en")} characters are searched.`}
      {results.pending > 0 &&
        ` Still indexing: ${plural(results.pending, "more thing", "more things")} can be found soon.`}
    </>
  );
}

const Hint = () => (
  <>
    <kbd>↑</kbd> <kbd>↓</kbd> to choose, <kbd>Enter</kbd> to open, <kbd>Esc</kbd> to close
  </>
);

function useGroups(text: string, results: Results): Group[] {
  const zone = useMyZone();
  const typed = text.trim();
  const groups: Group[] = [
    {
      name: "Go to",
      options: commands
        .filter(({ name }) => isCalled(name, typed))
        .map(({ name, icon, run }) => ({ id: `command ${name}`, icon, name, run })),
    },
    {
      name: typed ? "Conversations" : "Recent conversations",
      options: results.sessions.map((session) => ({
        id: `session ${session.key}`,
        icon: "chat",
        name: <span className="truncate">{titleOf(session)}</span>,
        run: () => navigate(pathTo.chat(session.key)),
      })),
    },
    {
      name: "Automations",
      options: results.jobs.map((job) => ({
        id: `job ${job.id}`,
        icon: "clock",
        name: <span className="truncate">{job.name}</span>,
        about: job.words,
        run: () => navigate(pathTo.job(job.id)),
      })),
    },
    { name: "Found", options: results.found.map((found) => optionOf(found, zone)) },
  ];
  // Without words the recent conversations come first: that is where most people want to go.
  if (!typed) groups.unshift(...groups.splice(1, 1));
  const { more } = results;
  if (more)
    groups.push({
      name: "More",
      options: [{ id: "more", icon: "down", name: "More results", run: more, stays: true }],
    });
  return groups.filter(({ options }) => options.length > 0);
}

const kinds: Record<Found["kind"], { icon: IconName; name: string }> = {
  message: { icon: "chat", name: "Message" },
  job: { icon: "clock", name: "Automation" },
  memory: { icon: "note", name: "Memory" },
  session: { icon: "chat", name: "Conversation" },
};

function optionOf(found: Found, zone: string): Option {
  const { icon, name } = kinds[found.kind];
  return {
    id: `found ${found.kind} ${found.id}`,
    icon,
    name: (
      <>
        <span className="truncate">{found.title || (found.kind === "memory" ? name : found.session_key)}</span>
        <time dateTime={found.at} className="ml-auto flex-none text-fine text-mute">
          {stampOf(Date.parse(found.at), zone, nowMs())}
        </time>
      </>
    ),
    about: piecesOf(found.words, found.marks).map(({ text, hit }, at) => (hit ? <mark key={at}>{text}</mark> : text)),
    run: () => navigate(addressOf(found)),
  };
}

function addressOf({ kind, id, session_key, seq }: Found): string {
  if (kind === "job") return pathTo.job(id);
  if (kind === "memory") return pathTo.memory(id);
  return seq === null ? pathTo.chat(session_key ?? "") : pathTo.message(session_key ?? "", seq);
}
