// A time zone by its IANA name, with the names to choose from. An unknown one is said at once, in its own place.
import { useId } from "react";
import { allZones, knownZone } from "../time/format";

type ZoneFieldProps = {
  label: string;
  value: string;
  onChange: (zone: string) => void;
  hint?: string;
  error?: string | null;
};

export function ZoneField({ label, value, onChange, hint, error }: ZoneFieldProps) {
  const id = useId();
  const wrong =
    error ??
    (value !== "" && !knownZone(value)
      ? `“${value}” is no time zone this browser knows. Names look like Europe/Berlin.`
      : null);
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-small font-semibold">
        {label}
      </label>
      <input
        id={id}
        className="field"
        list={`${id}-zones`}
        value={value}
        autoComplete="off"
        spellCheck={false}
        aria-invalid={wrong !== null}
        aria-describedby={`${id}-says`}
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={`${id}-zones`}>
        {allZones().map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <p id={`${id}-says`} className={`text-small ${wrong ? "text-bad" : "text-mute"}`}>
        {wrong ?? hint}
      </p>
    </div>
  );
}
