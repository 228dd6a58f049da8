// The places of the page: for the side, the bar of a phone, and Ctrl-K.
import type { IconName } from "./parts/Icon";

/** The bar of a phone has room for six; the inbox leads to what is only at the side. */
export type Place = { to: string; name: string; icon: IconName; rooms: string[]; sideOnly?: boolean };

export const places: Place[] = [
  { to: "/", name: "Chat", icon: "chat", rooms: ["", "chat", "turns"] },
  { to: "/inbox", name: "Inbox", icon: "inbox", rooms: ["inbox", "approvals"] },
  { to: "/automations", name: "Automations", icon: "clock", rooms: ["automations", "runs"] },
  { to: "/week", name: "Week", icon: "week", rooms: ["week"] },
  { to: "/agents", name: "Agents", icon: "agent", rooms: ["agents"] },
  { to: "/deliveries", name: "Deliveries", icon: "delivery", rooms: ["deliveries"], sideOnly: true },
  { to: "/settings", name: "Settings", icon: "settings", rooms: ["settings", "usage"] },
];
