// Choose a conversation by typing some of its name: all of them can be found, however many there are.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useDeferredValue, useState } from "react";
import { listSessions } from "../api/operations";
import { useSessionName } from "../api/queries";
import type { Session } from "../api/types";
import { titleOf } from "./words";

type SessionFieldProps = {
  id: string;
  value: string;
  onChange: (key: string) => void;
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
};

const NEW = { key: "", title: "A new conversation for it" };
const MOST = 20;

export function SessionField({ value, onChange, ...wired }: SessionFieldProps) {
  const [text, setText] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const open = text !== null;
  const chosen = useChosenName(value);
  const asked = useDeferredValue((text ?? "").trim());
  const found = useQuery({
    queryKey: ["names", "sessions", asked],
    queryFn: () => listSessions({ ...(asked ? { q: asked } : {}), limit: MOST }),
    enabled: open,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  const options: Pick<Session, "key" | "title">[] = [NEW, ...(found.data?.items ?? [])];
  const list = `${wired.id}-list`;
  const optionId = (index: number) => `${list}-${index}`;
  const active = Math.min(at, options.length - 1);

  function choose(option: Pick<Session, "key" | "title"> | undefined) {
    if (option) onChange(option.key);
    setText(null);
  }

  function type(next: string) {
    setText(next);
    // The first is always the new one; who types looks for one that is there.
    setAt(next.trim() ? 1 : 0);
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (!open) return type("");
      setAt((active + step + options.length) % options.length);
    } else if (event.key === "Enter" && open) {
      event.preventDefault();
      choose(options[active]);
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      setText(null);
    }
  }

  return (
    <div className="relative">
      <input
        {...wired}
        className="field"
        role="combobox"
        aria-expanded={open}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={open ? optionId(active) : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder="Find a conversation"
        value={text ?? chosen}
        onFocus={(event) => event.target.select()}
        onClick={() => !open && type("")}
        onChange={(event) => type(event.target.value)}
        onKeyDown={onKeyDown}
        onBlur={() => setText(null)}
      />
      {open && (
        <div
          id={list}
          role="listbox"
          aria-label="Conversations"
          className="menu absolute inset-x-0 top-full mt-1 max-h-64 overflow-y-auto"
        >
          {options.map((option, index) => (
            <div
              key={option.key}
              id={optionId(index)}
              role="option"
              aria-selected={index === active}
              tabIndex={-1}
              className="menu-item"
              data-highlighted={index === active || undefined}
              onMouseMove={() => setAt(index)}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(option)}
            >
              <span className="truncate">{titleOf(option)}</span>
            </div>
          ))}
          {found.isSuccess && options.length === 1 && asked && (
            <p className="px-2.5 py-1.5 text-small text-mute">No conversation is called that.</p>
          )}
        </div>
      )}
    </div>
  );
}

function useChosenName(key: string): string {
  const name = useSessionName(key, key === "" ? null : undefined);
  return key === "" ? NEW.title : name;
}
