// Which model answers, why that one, and how another is put in its place.
import type { Status } from "../api/types";

export function ModelHelp({ status }: { status: Status }) {
  const { name, offline, why } = status.model;
  return (
    <div className="space-y-3">
      <p>
        {offline
          ? "No model is set up, so a small built-in program answers. It understands a few phrases about time and calls the same real tools."
          : `Answers come from ${name}.`}{" "}
        {why && <span className="text-mute">{why}</span>}
      </p>
      <p className="text-mute">
        {offline ? "To add a model" : "To change it"}, set one of these where Homing runs, and start it again:
      </p>
      <pre
        className="overflow-x-auto rounded-md border bg-tint px-3 py-2 font-mono text-small leading-relaxed"
        tabIndex={0}
        aria-label="How to add a model"
      >
        {"export OPENAI_API_KEY=…\n"}
        {"export HOMING_MODEL=openai-chat:gpt-5\n"}
        {"homing up"}
      </pre>
      <p className="text-small text-mute">
        ANTHROPIC_API_KEY, or any OpenAI-compatible server, works too. Your automations stay as they are.
      </p>
    </div>
  );
}
