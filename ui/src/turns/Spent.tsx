// What a call, a turn or a run used.
import type { Usage } from "../api/types";

export function Tokens({ usage }: { usage: Usage }) {
  return `${usage.input_tokens.toLocaleString("en-GB")} in, ${usage.output_tokens.toLocaleString("en-GB")} out`;
}

export function Cost({ usage }: { usage: Usage }) {
  return dollars(usage.cost_usd);
}

/** Small sums keep two digits that say something: $0.0042, not $0.00. */
export function dollars(cost: number | null): string {
  if (cost === null) return "price unknown";
  if (cost === 0) return "$0";
  if (cost >= 1) return `$${cost.toFixed(2)}`;
  const digits = Math.min(9, Math.max(2, 1 - Math.floor(Math.log10(cost))));
  return `$${cost.toFixed(digits)}`;
}
