// What arrived unasked while one was elsewhere in the page, until it is handled or read, here or in another tab.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect } from "react";
import { placeSession } from "../api/cache";
import { onArrival } from "../api/live";
import { markRead } from "../api/operations";
import type { Message } from "../api/types";
import { pathTo } from "../router";
import { createStore } from "../store";

const MOST = 50;
const arrivals = createStore<readonly Message[]>([]);
/** Oldest first. */
export const useArrivals = () => arrivals.use((all) => all);
export const dismissAll = () => arrivals.set([]);

/** Let go of what came in a conversation up to a message. */
export const dismiss = (key: string, seq: number) =>
  arrivals.set(arrivals.get().filter((one) => one.session_key !== key || one.seq > seq));

const isOnScreen = (message: Message) => location.pathname === pathTo.chat(message.session_key);

/** Collect what arrives elsewhere. A hidden tab leaves it to the visible one, and to the browser's notifications. */
export function useCollectArrivals() {
  useEffect(
    () =>
      onArrival((message) => {
        if (!message.unasked || document.hidden || isOnScreen(message)) return;
        arrivals.set([...arrivals.get(), message].slice(-MOST));
      }),
    [],
  );
}

/** Note in the record how far a conversation was read; every other tab hears of it. */
export function useMarkRead(): (key: string, seq: number) => Promise<void> {
  const client = useQueryClient();
  return useCallback(
    async (key, seq) => {
      placeSession(client, await markRead(key, seq));
      dismiss(key, seq);
    },
    [client],
  );
}
