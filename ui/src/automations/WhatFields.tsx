// What happens at that time: the message, who acts on it and where, and what to do when the time was missed.
import type { Job, Payload } from "../api/types";
import { Labelled } from "../parts/Labelled";
import { SessionField } from "../parts/SessionField";
import { AlertFields } from "./AlertFields";
import type { Draft } from "./draft";
import { ScriptFields } from "./ScriptFields";

type WhatProps = {
  draft: Draft;
  setDraft: (draft: Draft) => void;
  edit: boolean;
  errorOf: (...names: string[]) => string | null;
};

const kinds: [Payload["kind"], string, string][] = [
  [
    "agent_turn",
    "The agent works on it",
    "It reads the message as an instruction, thinks, uses its tools and answers in the conversation.",
  ],
  [
    "reminder",
    "A reminder, word for word",
    "The text is sent as it is: no model, no waiting, not even for an answer in progress.",
  ],
  ["system_event", "A note for the agent", "It is added to the conversation, and the agent is woken to see it."],
];

export function WhatFields({ draft, setDraft, edit, errorOf }: WhatProps) {
  const set = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const turn = draft.payloadKind === "agent_turn";
  return (
    <section aria-label="Task" className="mt-8 flex flex-col gap-5 border-t pt-6">
      <Labelled
        label={draft.payloadKind === "reminder" ? "Text" : "What should happen?"}
        error={errorOf("message", "payload", "payload.message")}
      >
        {(props) => (
          <textarea
            className="field"
            rows={4}
            maxLength={16384}
            value={draft.message}
            onChange={(event) => set({ message: event.target.value })}
            {...props}
          />
        )}
      </Labelled>
      <Labelled
        label="Name"
        hint="Two to five words. Left empty, the message's beginning is used."
        error={errorOf("name")}
      >
        {(props) => (
          <input
            className="field"
            maxLength={128}
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
            {...props}
          />
        )}
      </Labelled>
      <Choices
        legend="What happens"
        name="kind"
        value={draft.payloadKind}
        options={kinds}
        onChange={(payloadKind) => set({ payloadKind })}
      />
      {!edit && (
        <Labelled
          label="Conversation"
          hint="It runs there, with that conversation's history and addresses."
          error={errorOf("session_key")}
        >
          {(props) => (
            <SessionField {...props} value={draft.sessionKey} onChange={(sessionKey) => set({ sessionKey })} />
          )}
        </Labelled>
      )}
      {turn && (
        <Choices
          legend="Where it runs"
          name="session"
          value={draft.session}
          options={[
            ["main", "In the conversation", "As one of its turns, after the answer in progress and never inside it."],
            ["isolated", "In its own conversation", "With memory but without this conversation; it reports back here."],
          ]}
          onChange={(session) => set({ session })}
        />
      )}
      {turn && draft.session === "isolated" && (
        <div className="flex flex-col gap-3 pl-6">
          <Labelled label="It reports back">
            {(props) => (
              <select
                className="field"
                value={draft.writeBack}
                onChange={(event) => set({ writeBack: event.target.value as Job["write_back"] })}
                {...props}
              >
                <option value="full">the full text</option>
                <option value="summary">a summary</option>
                <option value="none">nothing</option>
              </select>
            )}
          </Labelled>
          {draft.writeBack !== "none" && (
            <Check
              label="The conversation goes on from the report"
              on={draft.continues}
              set={(continues) => set({ continues })}
            />
          )}
        </div>
      )}
      {turn && <Check label="Stay quiet when there is no news" on={draft.quiet} set={(quiet) => set({ quiet })} />}
      <Check
        label="Delete after it succeeds"
        on={draft.deleteAfterRun}
        set={(deleteAfterRun) => set({ deleteAfterRun })}
      />
      <Choices
        legend="If a time is missed because nothing was running"
        name="catch_up"
        value={draft.catchUp}
        options={[
          [
            "latest",
            "Catch up once",
            "The newest missed time runs, late, and the agent is told how late and how many were missed.",
          ],
          ["skip", "Skip it", "It is recorded as missed, and the next time is as planned."],
        ]}
        onChange={(catchUp) => set({ catchUp })}
      />
      {draft.catchUp === "latest" && (
        <Labelled label="Unless it is later than this (hours)" error={errorOf("catch_up_window_seconds")} narrow>
          {(props) => (
            <input
              type="number"
              min={0}
              step="any"
              className="field"
              value={Number.isNaN(draft.windowHours) ? "" : draft.windowHours}
              onChange={(event) => set({ windowHours: event.target.valueAsNumber })}
              {...props}
            />
          )}
        </Labelled>
      )}
      <ScriptFields draft={draft} set={set} errorOf={errorOf} />
      <AlertFields draft={draft} set={set} errorOf={errorOf} />
      {turn && (
        <details>
          <summary className="text-small text-mute hover:text-ink">More</summary>
          <div className="mt-3 flex flex-col gap-4">
            <Labelled label="It reads">
              {(props) => (
                <select
                  className="field"
                  value={draft.context}
                  onChange={(event) => set({ context: event.target.value as Draft["context"] })}
                  {...props}
                >
                  <option value="session">the conversation so far</option>
                  <option value="since_last">what was said since its last run</option>
                  <option value="none">only its message</option>
                </select>
              )}
            </Labelled>
            <Labelled label="Time limit (seconds)" error={errorOf("payload.timeout_seconds")} narrow>
              {(props) => (
                <input
                  type="number"
                  min={0}
                  className="field"
                  value={Number.isNaN(draft.timeoutSeconds) ? "" : draft.timeoutSeconds}
                  onChange={(event) => set({ timeoutSeconds: event.target.valueAsNumber })}
                  {...props}
                />
              )}
            </Labelled>
            <Labelled label="Budget per day (US dollars)" error={errorOf("max_cost_usd_per_day")} narrow>
              {(props) => (
                <input
                  type="number"
                  min={0}
                  step="any"
                  placeholder="no limit"
                  className="field"
                  value={Number.isNaN(draft.budget) ? "" : draft.budget}
                  onChange={(event) => set({ budget: event.target.valueAsNumber })}
                  {...props}
                />
              )}
            </Labelled>
          </div>
        </details>
      )}
    </section>
  );
}

function Check({ label, on, set }: { label: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <label className="flex items-center gap-2.5">
      <input
        type="checkbox"
        className="size-4 accent-(--color-accent)"
        checked={on}
        onChange={(event) => set(event.target.checked)}
      />
      {label}
    </label>
  );
}

type ChoicesProps<T extends string> = {
  legend: string;
  name: string;
  value: T;
  options: [T, string, string][];
  onChange: (value: T) => void;
};

function Choices<T extends string>({ legend, name, value, options, onChange }: ChoicesProps<T>) {
  return (
    <fieldset>
      <legend className="pb-1.5 text-small font-semibold">{legend}</legend>
      <div className="flex flex-col gap-2">
        {options.map(([option, label, explains]) => (
          <label key={option} className="flex items-start gap-2.5">
            <input
              type="radio"
              name={name}
              className="mt-[0.3rem] size-4 flex-none accent-(--color-accent)"
              checked={value === option}
              onChange={() => onChange(option)}
            />
            <span>
              {label}
              <span className="block text-small text-mute">{explains}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
