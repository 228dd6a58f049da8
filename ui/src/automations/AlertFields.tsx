// When an automation that does not work says so by another route, and where.
import { useState } from "react";
import { Labelled } from "../parts/Labelled";
import type { Draft } from "./draft";

type AlertProps = {
  draft: Draft;
  set: (changes: Partial<Draft>) => void;
  errorOf: (...names: string[]) => string | null;
};

export function AlertFields({ draft, set, errorOf }: AlertProps) {
  const wrong = errorOf("alert_after", "alert_to") !== null;
  const [open, setOpen] = useState(draft.alertTo !== "");
  return (
    <details open={open || wrong} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="text-small text-mute hover:text-ink">Alerts</summary>
      <div className="mt-3 flex flex-col gap-4">
        <Labelled
          label="Alert after failures in a row"
          hint="0: never. A one-time automation alerts when it is given up."
          error={errorOf("alert_after")}
          narrow
        >
          {(props) => (
            <input
              type="number"
              min={0}
              max={1000}
              className="field"
              value={Number.isNaN(draft.alertAfter) ? "" : draft.alertAfter}
              onChange={(event) => set({ alertAfter: event.target.valueAsNumber })}
              {...props}
            />
          )}
        </Labelled>
        <Labelled
          label="Send alerts to"
          hint="With commas, for example email:me@example.org. Left empty, they go to your other addresses."
          error={errorOf("alert_to")}
        >
          {(props) => (
            <input
              className="field"
              value={draft.alertTo}
              onChange={(event) => set({ alertTo: event.target.value })}
              {...props}
            />
          )}
        </Labelled>
      </div>
    </details>
  );
}
