// A new MCP server as its form has it, and as the server is asked for it.
import type { McpServerDraft } from "../api/types";

export type ServerForm = {
  name: string;
  kind: "stdio" | "http";
  command: string;
  args: string;
  url: string;
  values: string;
  hosts: string;
  policy: "" | "allow" | "ask" | "deny";
};

export const emptyForm: ServerForm = {
  name: "",
  kind: "stdio",
  command: "",
  args: "",
  url: "",
  values: "",
  hosts: "",
  policy: "",
};

const linesOf = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** The line that is not NAME=VALUE, if there is one. */
export const unreadable = (text: string) => linesOf(text).find((line) => line.indexOf("=") < 1) ?? null;

/** NAME=VALUE per line; NAME=secret:NAME names a secret, whose value stays on the server. */
export function valuesOf(text: string) {
  return Object.fromEntries(
    linesOf(text).map((line) => {
      const at = line.indexOf("=");
      const value = line.slice(at + 1);
      return [line.slice(0, at), value.startsWith("secret:") ? { secret: value.slice("secret:".length) } : value];
    }),
  );
}

export function asked(form: ServerForm): McpServerDraft {
  const policy = form.policy === "" ? {} : { policy: form.policy };
  const name = form.name.trim();
  if (form.kind === "http") return { name, url: form.url.trim(), headers: valuesOf(form.values), ...policy };
  return {
    name,
    command: form.command.trim(),
    // A blank line is left out; blanks inside an argument stay.
    args: form.args.split("\n").filter((line) => line !== ""),
    env: valuesOf(form.values),
    hosts: linesOf(form.hosts),
    ...policy,
  };
}
