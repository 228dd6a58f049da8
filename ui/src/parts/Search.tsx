// A search field that waits until one stops typing.
import { useEffect, useRef, useState } from "react";
import { Icon } from "./Icon";

const PAUSE_MS = 200;

export function Search({ label, value, onChange }: { label: string; value: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(value);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (text === value) return;
    const timer = window.setTimeout(() => latest.current(text), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [text, value]);
  return (
    <label className="flex min-w-0 flex-1 items-center gap-2 text-mute">
      <Icon name="search" size={16} className="flex-none" />
      <input
        type="search"
        data-search
        aria-label={label}
        placeholder={label}
        className="h-9 w-full min-w-0 bg-transparent text-ink outline-none"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </label>
  );
}
