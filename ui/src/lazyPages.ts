// The pages that are loaded when they are opened. An unreachable server must not clear what is on the screen.
import { type ComponentType, createElement, lazy, useState } from "react";

const loads: (() => Promise<unknown>)[] = [];

/**
 * A page that is there already is shown at once: `lazy` would show the fallback first, and React leaves a fallback on
 * the screen for 300 ms.
 */
function lazyPage<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  async function keep() {
    const module = await load();
    loaded = module.default;
    return module;
  }
  loads.push(keep);
  const Lazy = lazy(() => keep().catch(() => loadWhenReachable(keep)));
  return function LoadedPage(props: P) {
    const [Page] = useState<ComponentType<P>>(() => loaded ?? (Lazy as ComponentType<P>));
    return createElement(Page, props);
  };
}

export const AutomationsPage = lazyPage(() => import("./automations/AutomationsPage"));
export const AutomationPage = lazyPage(() => import("./automations/AutomationPage"));
export const EditPage = lazyPage(() => import("./automations/EditPage"));
export const AgentsPage = lazyPage(() => import("./agents/AgentsPage"));
export const AgentPage = lazyPage(() => import("./agents/AgentPage"));
export const RunPage = lazyPage(() => import("./runs/RunPage"));
export const TurnPage = lazyPage(() => import("./turns/TurnPage"));
export const WeekPage = lazyPage(() => import("./week/WeekPage"));
export const DeliveriesPage = lazyPage(() => import("./deliveries/DeliveriesPage"));
export const InboxPage = lazyPage(() => import("./inbox/InboxPage"));
export const ApprovalsPage = lazyPage(() => import("./approvals/ApprovalsPage"));
export const ApprovalPage = lazyPage(() => import("./approvals/ApprovalPage"));
/** A part of a conversation that most conversations do not have. */
export const ApprovalCard = lazyPage(() => import("./approvals/ApprovalCard"));
export const UsagePage = lazyPage(() => import("./usage/UsagePage"));
export const SettingsPage = lazyPage(() => import("./settings/SettingsPage"));

/** Load them all while the page is idle, so that each opens at once, and also without a server. */
export function preloadPages() {
  for (const load of loads) load().catch(() => undefined);
}

const PAUSE_MS = 1500;

async function loadWhenReachable<T>(load: () => Promise<T>): Promise<T> {
  while (!(await isReachable())) await new Promise((go) => window.setTimeout(go, PAUSE_MS));
  try {
    return await load();
  } catch (error) {
    reloadOnce();
    throw error;
  }
}

const isReachable = () =>
  fetch("/healthz", { cache: "no-store" }).then(
    (response) => response.ok,
    () => false,
  );

/** After an upgrade of the server, the files that an open tab knows are gone; a reloaded page knows the new ones. */
function reloadOnce() {
  const last = Number(sessionStorage.getItem("homing.reloaded") ?? 0);
  if (Date.now() - last < 60_000) return; // A file that stays missing must not cause an endless reload.
  sessionStorage.setItem("homing.reloaded", String(Date.now()));
  location.reload();
}
