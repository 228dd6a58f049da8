// A script that looks first: its text and its language, folded away until there is one; what else it has is inside.
import { type ReactNode, useState } from "react";
import { Labelled } from "./Labelled";

type Language = "bash" | "python";

type ScriptSectionProps = {
  label: string;
  about: string;
  script: string;
  language: Language;
  wrong: boolean;
  errorOf: (name: "script" | "script_language") => string | null;
  onScript: (script: string) => void;
  onLanguage: (language: Language) => void;
  children?: ReactNode;
};

export function ScriptSection(given: ScriptSectionProps) {
  const [open, setOpen] = useState(given.script !== "");
  return (
    <details open={open || given.wrong} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="text-small text-mute hover:text-ink">A script that looks first</summary>
      <div className="mt-3 flex flex-col gap-4">
        <p className="text-small text-mute">
          {given.about} Its last line says whether the agent is needed:{" "}
          <code className="font-mono">{'{"wakeAgent": true, "data": "what was found"}'}</code>
        </p>
        <Labelled label={given.label} error={given.errorOf("script")}>
          {(props) => (
            <textarea
              className="field font-mono text-fine"
              rows={6}
              maxLength={65536}
              spellCheck={false}
              value={given.script}
              onChange={(event) => given.onScript(event.target.value)}
              {...props}
            />
          )}
        </Labelled>
        <Labelled label="Language" error={given.errorOf("script_language")} narrow>
          {(props) => (
            <select
              className="field"
              value={given.language}
              onChange={(event) => given.onLanguage(event.target.value as Language)}
              {...props}
            >
              <option value="bash">Bash, in the sandbox</option>
              <option value="python">Python, everywhere</option>
            </select>
          )}
        </Labelled>
        {given.children}
      </div>
    </details>
  );
}
