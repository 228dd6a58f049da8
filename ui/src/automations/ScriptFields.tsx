// A script that looks before each run: its text, its language, what it may reach, and one try before it is saved.
import { useState } from "react";
import { sentenceOf } from "../api/client";
import { tryScript } from "../api/operations";
import type { TriedScript } from "../api/types";
import { Box } from "../parts/Box";
import { Labelled } from "../parts/Labelled";
import { ScriptSection } from "../parts/ScriptSection";
import type { Draft } from "./draft";

type ScriptProps = {
  draft: Draft;
  set: (changes: Partial<Draft>) => void;
  errorOf: (...names: string[]) => string | null;
};

export function ScriptFields({ draft, set, errorOf }: ScriptProps) {
  return (
    <ScriptSection
      label="Script"
      about="It runs before each run, without a model."
      script={draft.script}
      language={draft.scriptLanguage}
      wrong={errorOf("script", "script_language", "script_hosts", "script_seconds") !== null}
      errorOf={errorOf}
      onScript={(script) => set({ script })}
      onLanguage={(scriptLanguage) => set({ scriptLanguage })}
    >
      <Labelled
        label="Hosts it may reach"
        hint="With commas, for example example.org, *.example.com. Left empty, it has no network."
        error={errorOf("script_hosts")}
      >
        {(props) => (
          <input
            className="field"
            value={draft.scriptHosts}
            onChange={(event) => set({ scriptHosts: event.target.value })}
            {...props}
          />
        )}
      </Labelled>
      <Labelled label="Time limit of the script (seconds)" error={errorOf("script_seconds")} narrow>
        {(props) => (
          <input
            type="number"
            min={1}
            max={300}
            className="field"
            value={Number.isNaN(draft.scriptSeconds) ? "" : draft.scriptSeconds}
            onChange={(event) => set({ scriptSeconds: event.target.valueAsNumber })}
            {...props}
          />
        )}
      </Labelled>
      <Try draft={draft} />
    </ScriptSection>
  );
}

export const listOf = (text: string) =>
  text
    .split(",")
    .map((host) => host.trim())
    .filter((host) => host !== "");

function Try({ draft }: { draft: Draft }) {
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState<TriedScript | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  async function run() {
    setBusy(true);
    setTried(null);
    setRefused(null);
    try {
      setTried(
        await tryScript({
          script: draft.script,
          script_language: draft.scriptLanguage,
          script_hosts: listOf(draft.scriptHosts),
          script_seconds: draft.scriptSeconds,
        }),
      );
    } catch (error) {
      setRefused(sentenceOf(error));
    }
    setBusy(false);
  }
  return (
    <div className="flex flex-col gap-3">
      <div>
        <button
          type="button"
          className="button"
          disabled={busy || draft.script.trim() === ""}
          onClick={() => void run()}
        >
          {busy ? "Trying" : "Try the script"}
        </button>
      </div>
      <div aria-live="polite" className="flex flex-col gap-3">
        {refused && <p className="text-bad">{refused}</p>}
        {tried && <p className={tried.fault ? "text-bad" : ""}>{tried.fault ?? verdict(tried)}</p>}
        {tried?.out.trim() && <Box title="Printed" text={tried.out} />}
        {tried?.err.trim() && <Box title="Errors" text={tried.err} />}
      </div>
    </div>
  );
}

function verdict(tried: TriedScript): string {
  return tried.result?.wakeAgent ? "It works: the agent would be woken." : "It works: the agent would not be woken.";
}
