// The tab says where one is, and how much is unread.
import { useEffect } from "react";
import { createStore } from "../store";

const title = createStore("Homing");
const MOST = 99;

export function useTitle(name: string | undefined) {
  useEffect(() => {
    title.set(name ? `${name} · Homing` : "Homing");
    return () => title.set("Homing");
  }, [name]);
}

/** "(2) Fruit · Homing", and a dot in the tab's icon. */
export function useTab(unread: number) {
  const text = title.use((shown) => shown);
  const count = unread > MOST ? `${MOST}+` : unread;
  useEffect(() => {
    document.title = unread > 0 ? `(${count}) ${text}` : text;
  }, [unread, count, text]);
  useEffect(() => {
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (icon) icon.href = unread > 0 ? "/mark-unread.svg" : "/mark.svg";
    return () => {
      if (icon) icon.href = "/mark.svg";
    };
  }, [unread]);
}
