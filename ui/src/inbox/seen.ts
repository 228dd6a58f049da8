// What one has looked at is noted on the server: every other tab and machine knows it then.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect } from "react";
import { keys } from "../api/cache";
import { seeInbox } from "../api/operations";
import { flat, useInbox } from "../api/queries";
import type { InboxItem } from "../api/types";
import { toastError } from "../parts/toasts";

/** Note that one item was seen, or all that are there. */
export function useSee(): (item?: Pick<InboxItem, "kind" | "id">) => Promise<void> {
  const client = useQueryClient();
  return useCallback(
    async (item) => {
      try {
        await seeInbox(item);
        await client.invalidateQueries({ queryKey: keys.inbox });
      } catch (error) {
        toastError(error);
      }
    },
    [client],
  );
}

/** Opening the page of a thing is seeing it, from wherever one came. */
export function useSeen(kind: InboxItem["kind"], id: string) {
  const see = useSee();
  const unseen = flat(useInbox().data).some((item) => item.kind === kind && item.id === id && !item.seen);
  useEffect(() => {
    if (unseen) void see({ kind, id });
  }, [unseen, see, kind, id]);
}
