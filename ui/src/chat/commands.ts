// The slash commands of the composer: only those that work here.
import type { QueryClient } from "@tanstack/react-query";
import type { Session } from "../api/types";
import { navigate } from "../router";
import { download, headSheet, setArchived, setPinned } from "./sessionActions";

export type Command = {
  name: string;
  does: string;
  /** For a command that begins a sentence: the text it puts into the composer. */
  writes?: string;
  run?: (client: QueryClient, session: Session | undefined) => void;
};

const ANYWHERE: Command[] = [
  { name: "new", does: "Start a new conversation", run: () => navigate("/chat") },
  { name: "remind", does: "Set a reminder: write what and when", writes: "remind me " },
];

const IN_CONVERSATION: Command[] = [
  {
    name: "pin",
    does: "Pin this conversation, or unpin it",
    run: (client, one) => one && void setPinned(client, one, !one.pinned),
  },
  {
    name: "archive",
    does: "Archive this conversation, or unarchive it",
    run: (client, one) => one && void setArchived(client, one, !one.archived),
  },
  {
    name: "export",
    does: "Save this conversation as Markdown",
    run: (_, one) => one && void download(one, "markdown"),
  },
  { name: "json", does: "Save this conversation as JSON", run: (_, one) => one && void download(one, "json") },
  { name: "model", does: "Change name, time zone and model", run: () => headSheet.set("edit") },
  { name: "agent", does: "Change the agent that answers here", run: () => headSheet.set("agent") },
  { name: "print", does: "Print this conversation", run: () => window.print() },
];

/** The commands that begin with the text, which must be a slash and letters alone. Null when none does. */
export function commandsFor(text: string, here: boolean): Command[] | null {
  const typed = /^\/([a-z]*)$/i.exec(text)?.[1]?.toLowerCase();
  if (typed === undefined) return null;
  const known = here ? [...ANYWHERE, ...IN_CONVERSATION] : ANYWHERE;
  const found = known.filter(({ name }) => name.startsWith(typed));
  return found.length > 0 ? found : null;
}
