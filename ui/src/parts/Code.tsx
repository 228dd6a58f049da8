// A block of code: its language, its colours once they are loaded, and Copy.
import { memo, useEffect, useState } from "react";
import type { Run } from "./highlight";
import { Icon } from "./Icon";
import { toast } from "./toasts";

/** Longer than people read; colours for it would hold up the page. */
const LONGEST = 20_000;

export const Code = memo(function Code({ text, language, live }: { text: string; language: string; live: boolean }) {
  const runs = useRuns(text, language, live);
  return (
    <div className="code">
      <div className="code-head">
        <span>{language || "code"}</span>
        <CopyButton text={text} label="Copy code" />
      </div>
      <pre tabIndex={0} aria-label={language ? `Code in ${language}` : "Code"}>
        <code>
          {runs
            ? runs.map((run, index) => (
                <span key={index} className={run.name ? `code-${run.name}` : undefined}>
                  {run.text}
                </span>
              ))
            : text}
        </code>
      </pre>
    </div>
  );
});

/** While an answer is written its code changes with every word: it gets its colours at the end. */
function useRuns(text: string, language: string, live: boolean): Run[] | null {
  const [found, setFound] = useState<{ text: string; runs: Run[] | null } | null>(null);
  useEffect(() => {
    if (live || !language || text.length > LONGEST) return;
    let left = false;
    import("./highlight").then(
      ({ runsOf }) => {
        if (!left) setFound({ text, runs: runsOf(text, language) });
      },
      // Without colours it reads as well.
      () => undefined,
    );
    return () => {
      left = true;
    };
  }, [text, language, live]);
  return found?.text === text ? found.runs : null;
}

function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <button
      type="button"
      className="flex min-h-6 items-center gap-1 rounded px-1 hover:text-ink"
      aria-label={copied ? "Copied" : label}
      onClick={() => void copy(text).then(setCopied)}
    >
      <Icon name={copied ? "check" : "copy"} size={14} />
      <span aria-live="polite">{copied ? "Copied" : "Copy"}</span>
    </button>
  );
}

/** Put text on the clipboard; say whether that worked. Browsers offer one only on https and on this machine. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    toast({ text: "This browser did not allow copying. Select the text and copy it yourself.", bad: true });
    return false;
  }
}
