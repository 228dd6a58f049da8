// A list of short entries that grows and shrinks one at a time.
import { type KeyboardEvent, useId, useState } from "react";
import { Icon } from "../parts/Icon";

type EntryListProps = {
  label: string;
  one: string;
  hint: string;
  entries: string[];
  error: string | null;
  onChange: (entries: string[]) => void;
};

export function EntryList({ label, one, hint, entries, error, onChange }: EntryListProps) {
  const id = useId();
  const [text, setText] = useState("");

  function add() {
    const entry = text.trim();
    if (entry === "") return;
    if (!entries.includes(entry)) onChange([...entries, entry]);
    setText("");
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    event.preventDefault(); // Enter adds an entry; it does not save the agent.
    add();
  }

  return (
    <section aria-label={label}>
      <label htmlFor={id} className="text-small font-semibold">
        {label}
      </label>
      <p id={`${id}-says`} className={`text-small ${error ? "text-bad" : "text-mute"}`}>
        {error ?? hint}
      </p>
      {entries.length > 0 && (
        <ul className="mt-1.5 border-t">
          {entries.map((entry) => (
            <li key={entry} className="flex min-h-9 items-center gap-2 border-b">
              <code className="min-w-0 flex-1 font-mono text-[0.93em] [overflow-wrap:anywhere]">{entry}</code>
              <button
                type="button"
                className="icon-button"
                aria-label={`Remove ${entry}`}
                onClick={() => onChange(entries.filter((other) => other !== entry))}
              >
                <Icon name="close" size={15} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="mt-2 flex gap-2">
        <input
          id={id}
          className="field"
          value={text}
          maxLength={256}
          autoComplete="off"
          spellCheck={false}
          placeholder={`Add a ${one}`}
          aria-invalid={error !== null}
          aria-describedby={`${id}-says`}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          onBlur={add}
        />
        <button type="button" className="button" aria-label={`Add ${one}`} disabled={text.trim() === ""} onClick={add}>
          <Icon name="plus" size={15} /> Add
        </button>
      </div>
    </section>
  );
}
