// What can be done to a whole conversation, from its menu and from the composer.
import type { QueryClient } from "@tanstack/react-query";
import { placeSession } from "../api/cache";
import { exportSession, updateSession } from "../api/operations";
import type { Session } from "../api/types";
import { toast, toastError } from "../parts/toasts";
import { titleOf } from "../parts/words";
import { createStore } from "../store";

/** Which of a conversation's dialogs is open. */
export type HeadSheet = "sessions" | "edit" | "agent" | "delete" | null;
export const headSheet = createStore<HeadSheet>(null);

export async function setPinned(client: QueryClient, session: Session, pinned: boolean) {
  try {
    placeSession(client, await updateSession(session.key, { pinned }));
  } catch (error) {
    toastError(error);
  }
}

export async function setArchived(client: QueryClient, session: Session, archived: boolean) {
  try {
    placeSession(client, await updateSession(session.key, { archived }));
    if (!archived) return;
    toast({
      text: "Archived. It comes back when something arrives, and search finds it.",
      undo: async () => placeSession(client, await updateSession(session.key, { archived: false })),
    });
  } catch (error) {
    toastError(error);
  }
}

export async function download(session: Session, format: "markdown" | "json") {
  try {
    const name = titleOf(session)
      .replace(/[^\p{L}\p{N}_-]+/gu, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 80);
    save(await exportSession(session.key, format), `${name || "conversation"}.${format === "json" ? "json" : "md"}`);
  } catch (error) {
    toastError(error);
  }
}

/** Let the browser save bytes as a file. */
export function save(blob: Blob, name: string) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it after this task; a minute is plenty.
  window.setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
