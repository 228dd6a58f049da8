// What each built-in tool does, in a sentence; and an agent's tools in a few words.
import type { Agent } from "../api/types";

const SCHEDULE = "Sets reminders and automations in the conversation, changes them and removes them.";

const tools: Record<string, [does: string, group: string]> = {
  schedule_task: [SCHEDULE, "reminders"],
  cron: [SCHEDULE, "reminders"],
  schedule_message: [SCHEDULE, "reminders"],
  remember: ["Keeps something in memory for later conversations.", "memory"],
  recall: ["Looks up what is in memory.", "memory"],
  forget: ["Removes something from memory.", "memory"],
  fetch_url: ["Reads a page on the web.", "web"],
  search_web: ["Searches the web.", "web"],
  read_file: ["Reads a file in its workspace.", "files"],
  write_file: ["Writes a file in its workspace.", "files"],
  edit_file: ["Changes a part of a file in its workspace.", "files"],
  list_files: ["Lists the files in its workspace.", "files"],
  send_file: ["Sends a file of its workspace into the conversation.", "files"],
  ask_question: ["Asks you something, with buttons or in words.", "questions"],
  send_message: ["Writes to other agents, conversations and addresses that you allowed.", "messages"],
  request_access: ["Asks an administrator to let it reach a host or write to an address.", "requests"],
  install_packages: ["Asks an administrator to install packages for it.", "requests"],
  add_mcp_server: ["Asks an administrator to add an MCP server to it.", "requests"],
  run_command: ["Runs a command in its workspace, inside the sandbox.", "commands"],
};

export const toolSentence = (name: string) => tools[name]?.[0] ?? "";

export function toolsInWords({ tools_in_effect: all }: Agent): string {
  const offered = all.filter((tool) => tool.state === "offered");
  const groups = [...new Set(offered.map((tool) => tools[tool.name]?.[1] ?? tool.name))];
  return groups.length > 0 ? `Tools: ${groups.join(", ")}` : "No tools: it can only talk";
}
