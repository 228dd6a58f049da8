// An agent as the form has it, what of it was changed, and what somebody else changed meanwhile.
import type { Agent, AgentPatch, AgentTool, ToolPolicy } from "../api/types";

/** The fields a person edits, as the server takes them: null is the default. */
export type Definition = {
  name: string;
  model: string | null;
  thinking: string | null;
  instructions: string;
  tools: Record<string, ToolPolicy> | null;
  hosts: string[];
  secrets: string[];
};
export type Field = keyof Definition;

export const LONGEST_INSTRUCTIONS = 32_768;

export const fieldName: Record<Field, string> = {
  name: "Name",
  model: "Model",
  thinking: "Thinking",
  instructions: "Instructions",
  tools: "Tools",
  hosts: "Hosts",
  secrets: "Secrets",
};

export const emptyDefinition: Definition = {
  name: "",
  model: null,
  thinking: null,
  instructions: "",
  tools: null,
  hosts: [],
  secrets: [],
};

export const definitionOf = (agent: Agent): Definition => ({
  name: agent.name,
  model: agent.model,
  thinking: agent.thinking,
  instructions: agent.instructions ?? "",
  tools: agent.tools,
  hosts: agent.hosts ?? [],
  secrets: agent.secrets ?? [],
});

const fields = Object.keys(fieldName) as Field[];

/** The order in which tools are named means nothing. */
const plain = (value: Definition[Field]) =>
  JSON.stringify(value !== null && typeof value === "object" && !Array.isArray(value) ? sorted(value) : value);
const sorted = (tools: Record<string, ToolPolicy>) => Object.entries(tools).sort(([a], [b]) => (a < b ? -1 : 1));

export const changedFields = (before: Definition, now: Definition): Field[] =>
  fields.filter((field) => plain(before[field]) !== plain(now[field]));

export const pick = (from: Definition, wanted: Field[]): AgentPatch =>
  Object.fromEntries(wanted.map((field) => [field, from[field]]));

export const policyOf = (tool: AgentTool, tools: Definition["tools"]): ToolPolicy =>
  tools === null ? tool.default : (tools[tool.name] ?? "deny");

/** Choosing for one tool names all of them: from then on the defaults of a later version change nothing here. */
export const withPolicy = (
  offered: AgentTool[],
  tools: Definition["tools"],
  name: string,
  policy: ToolPolicy,
): Record<string, ToolPolicy> => ({
  ...(tools ?? Object.fromEntries(offered.map((tool) => [tool.name, tool.default]))),
  [name]: policy,
});

/** One field's value in a few words, or null where it needs room. */
export function wordsOf(field: Field, { [field]: value }: Definition): string {
  if (value === null) return field === "tools" ? "the defaults" : "the server’s";
  if (typeof value === "string") return value || "empty";
  if (Array.isArray(value)) return value.join(", ") || "none";
  const allowed = Object.keys(value).filter((name) => value[name] === "allow");
  return allowed.length > 0 ? `${allowed.join(", ")} allowed` : "all denied";
}
