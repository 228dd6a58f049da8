// An agent as the form has it, what of it was changed, and what somebody else changed meanwhile.
import type { Agent, AgentPatch, AgentTool, ToolPolicy } from "../api/types";

export type Heartbeat = {
  minutes: number | null;
  checklist: string | null;
  active_hours: string | null;
  script: string | null;
  script_language: "bash" | "python" | null;
};

/** The fields a person edits, as the server takes them: null is the default. */
export type Definition = {
  name: string;
  model: string | null;
  thinking: string | null;
  instructions: string;
  tools: Record<string, ToolPolicy> | null;
  hosts: string[];
  secrets: string[];
  heartbeat: Heartbeat;
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
  heartbeat: "Heartbeat",
};

const noHeartbeat: Heartbeat = {
  minutes: null,
  checklist: null,
  active_hours: null,
  script: null,
  script_language: null,
};

export const emptyDefinition: Definition = {
  name: "",
  model: null,
  thinking: null,
  instructions: "",
  tools: null,
  hosts: [],
  secrets: [],
  heartbeat: noHeartbeat,
};

export const definitionOf = (agent: Agent): Definition => ({
  name: agent.name,
  model: agent.model,
  thinking: agent.thinking,
  instructions: agent.instructions ?? "",
  tools: agent.tools,
  hosts: agent.hosts ?? [],
  secrets: agent.secrets ?? [],
  heartbeat: { ...noHeartbeat, ...agent.heartbeat },
});

const fields = Object.keys(fieldName) as Field[];

/** The order in which tools are named means nothing. */
const plain = (value: Definition[Field]) =>
  JSON.stringify(value !== null && typeof value === "object" && !Array.isArray(value) ? sorted(value) : value);
const sorted = (tools: Record<string, ToolPolicy> | Heartbeat) =>
  Object.entries(tools).sort(([a], [b]) => (a < b ? -1 : 1));

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
export function wordsOf(field: Field, definition: Definition): string {
  if (field === "heartbeat") return beatWords(definition.heartbeat);
  const { [field]: value } = definition;
  if (value === null) return field === "tools" ? "the defaults" : "the server’s";
  if (typeof value === "string") return value || "empty";
  if (Array.isArray(value)) return value.join(", ") || "none";
  const named = (policy: ToolPolicy) => Object.keys(value).filter((name) => value[name] === policy);
  const [allowed, asking] = [named("allow"), named("ask")];
  const words = [
    ...(allowed.length > 0 ? [`${allowed.join(", ")} allowed`] : []),
    ...(asking.length > 0 ? [`${asking.join(", ")} asking first`] : []),
  ];
  return words.join("; ") || "all denied";
}

function beatWords({ minutes, active_hours, checklist, script }: Heartbeat): string {
  const words = [
    ...(minutes === null ? [] : [minutes === 0 ? "never" : `every ${minutes} minutes`]),
    ...(active_hours === null ? [] : [active_hours]),
    ...(script === null ? [] : ["after a script"]),
    ...(checklist === null ? [] : [checklist]),
  ];
  return words.join(", ") || "the server’s";
}
