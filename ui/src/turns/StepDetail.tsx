// What a call was given and what came back, as plain text: whatever a tool brings from outside is never drawn as a page.
import type { TurnStep } from "../api/types";
import { Box } from "../parts/Box";

export function StepDetail({ step }: { step: TurnStep }) {
  const given = step.arguments && pretty(step.arguments);
  return (
    <div className="flex flex-col gap-2">
      {given && <Box title="Input" text={given} />}
      {step.result ? (
        <Box title={step.kind === "model" ? "Said" : "Result"} text={step.result} />
      ) : (
        <p className="text-small text-mute">
          {step.state === "running"
            ? "No result yet."
            : step.state === "unknown"
              ? "It was begun, and nobody knows whether it took effect."
              : "It gave no text."}
        </p>
      )}
      {step.cut && <p className="text-small text-mute">Shortened: more was said than is shown here.</p>}
    </div>
  );
}

/** Arguments that were shortened are not JSON any more; they are shown as they are. */
function pretty(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    if (value && typeof value === "object" && Object.keys(value).length === 0) return "";
    return JSON.stringify(value, null, 2);
  } catch {
    return json;
  }
}
