// When an agent looks around by itself, what it goes through then, and which script looks first.
import { Labelled } from "../parts/Labelled";
import { ScriptSection } from "../parts/ScriptSection";
import type { Heartbeat } from "./draft";

type HeartbeatProps = {
  beat: Heartbeat;
  errorOf: (name: keyof Heartbeat) => string | null;
  onChange: (beat: Heartbeat) => void;
};

export function HeartbeatFields({ beat, errorOf, onChange }: HeartbeatProps) {
  const set = (changes: Partial<Heartbeat>) => onChange({ ...beat, ...changes });
  return (
    <section aria-label="Heartbeat" className="flex flex-col gap-4">
      <div>
        <h2 className="text-small font-semibold">Heartbeat</h2>
        <p className="text-small text-mute">
          The agent looks around by itself, once for each of its users, in their home. If nothing needs them, it stays
          silent.
        </p>
      </div>
      <div className="grid gap-5 sm:grid-cols-2">
        <Labelled label="Every (minutes)" hint="0 is never. Empty: the server’s setting." error={errorOf("minutes")}>
          {(props) => (
            <input
              type="number"
              min={0}
              max={10080}
              className="field"
              value={beat.minutes ?? ""}
              onChange={(event) => {
                const { valueAsNumber: minutes } = event.target;
                set({ minutes: Number.isNaN(minutes) ? null : minutes });
              }}
              {...props}
            />
          )}
        </Labelled>
        <Labelled
          label="Active hours"
          hint="On each user’s clock. Empty: the server’s setting."
          error={errorOf("active_hours")}
        >
          {(props) => (
            <input
              className="field"
              value={beat.active_hours ?? ""}
              autoComplete="off"
              placeholder="08:00-22:00"
              onChange={(event) => set({ active_hours: event.target.value || null })}
              {...props}
            />
          )}
        </Labelled>
      </div>
      <Labelled
        label="Checklist"
        hint="What it goes through each time. Left empty, it only looks at events that wait for it."
        error={errorOf("checklist")}
      >
        {(props) => (
          <textarea
            className="field leading-snug"
            rows={5}
            maxLength={16384}
            value={beat.checklist ?? ""}
            onChange={(event) => set({ checklist: event.target.value || null })}
            {...props}
          />
        )}
      </Labelled>
      <ScriptSection
        label="Script of the heartbeat"
        about="It runs before each time, without a model, and may reach the agent’s hosts."
        script={beat.script ?? ""}
        language={beat.script_language ?? "bash"}
        wrong={errorOf("script") !== null}
        errorOf={errorOf}
        onScript={(script) => set({ script: script || null })}
        onLanguage={(script_language) => set({ script_language })}
      />
    </section>
  );
}
