// Each call of a turn in order: the model, its tools, and what came meanwhile.
import type { Turn, TurnStep } from "../api/types";
import { Icon, type IconName } from "../parts/Icon";
import { clockWithSeconds, durationOf } from "../time/format";
import { Zone } from "../time/Time";
import { dollars } from "./Spent";
import { StepDetail } from "./StepDetail";

const icons: Record<TurnStep["kind"], IconName> = { model: "spark", tool: "tool", inject: "chat", summary: "report" };
const kinds: Record<TurnStep["kind"], string> = {
  model: "Model call",
  tool: "Tool call",
  inject: "Your message meanwhile",
  summary: "Summary of the earlier conversation",
};

export function TurnSteps({ turn, zone }: { turn: Turn; zone: string }) {
  if (turn.steps.length === 0)
    return <p className="text-mute">{turn.state === "running" ? "None is finished yet." : "None are on record."}</p>;
  return (
    <ol className="border-t">
      {turn.steps.map((step) => (
        <li key={step.n} className="border-b">
          <details className="group">
            <summary className="flex flex-wrap items-center gap-x-3 py-2 hover:bg-tint">
              <Icon name="forward" size={12} className="flex-none text-mute group-open:rotate-90" />
              <Icon name={icons[step.kind]} size={15} className="flex-none text-mute" />
              <span className="min-w-0 [overflow-wrap:anywhere]">
                <span className="sr-only">{kinds[step.kind]}: </span>
                {step.kind === "inject" || step.kind === "summary" ? kinds[step.kind] : (step.model ?? step.name)}
              </span>
              {step.failed && <span className="text-small text-bad">failed</span>}
              {step.state === "unknown" && <span className="text-small text-wait">outcome unknown</span>}
              <span className="ml-auto text-small text-mute">
                {step.usage && `${dollars(step.usage.cost_usd)} · `}
                {step.state === "running" ? "running" : step.duration_ms !== null ? durationOf(step.duration_ms) : ""}
              </span>
            </summary>
            <div className="pb-3 pl-6">
              <p className="mb-1 text-small text-mute">
                Began {clockWithSeconds(Date.parse(step.started_at), zone)} <Zone name={zone} />
                {step.usage &&
                  `, ${step.usage.input_tokens.toLocaleString("en-GB")} tokens in, ${step.usage.output_tokens.toLocaleString("en-GB")} out`}
              </p>
              <StepDetail step={step} />
            </div>
          </details>
        </li>
      ))}
    </ol>
  );
}
