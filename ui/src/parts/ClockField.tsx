// A time of day as 24 hours everywhere: the browser's own field follows its language, and may say AM and PM.
import { useId, useState } from "react";
import { two } from "../time/format";

type ClockFieldProps = { label: string; value: string; onChange: (clock: string) => void };

/** `8`, `8:30`, `8.30`, `830` and `08:30` are all read; null is no time of day. */
export function readClock(text: string): string | null {
  const match = /^(\d{1,2})(?:[:.h ]?(\d{2}))?$/.exec(text.trim());
  const [hour, minute] = [Number(match?.[1]), Number(match?.[2] ?? 0)];
  return match && hour < 24 && minute < 60 ? `${two(hour)}:${two(minute)}` : null;
}

/** Gives HH:MM, or nothing while what stands there is no time. */
export function ClockField({ label, value, onChange }: ClockFieldProps) {
  const id = useId();
  const [text, setText] = useState(value);
  // Another hand may have set the time: then its text is shown, unless this one says the same in its own way.
  const shown = value === "" || readClock(text) === value ? text : value;
  const wrong = shown.trim() !== "" && readClock(shown) === null;
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-small text-mute">
        {label}
      </label>
      <input
        id={id}
        className="field !w-[5.2rem] text-center"
        placeholder="HH:MM"
        maxLength={5}
        value={shown}
        autoComplete="off"
        spellCheck={false}
        aria-invalid={wrong}
        aria-describedby={wrong ? `${id}-says` : undefined}
        onChange={(event) => {
          setText(event.target.value);
          onChange(readClock(event.target.value) ?? "");
        }}
        onBlur={() => value !== "" && setText(value)}
      />
      {wrong && (
        <p id={`${id}-says`} role="alert" className="text-small text-bad">
          No time of day: 07:30 or 18:05, say.
        </p>
      )}
    </div>
  );
}
