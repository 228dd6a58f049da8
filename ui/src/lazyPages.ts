// The pages that are loaded when they are opened. An unreachable server must not clear what is on the screen.
import { type ComponentType, lazy } from "react";

const loads: (() => Promise<unknown>)[] = [];

function lazyPage<P>(load: () => Promise<{ default: ComponentType<P> }>) {
  loads.push(load);
  return lazy(() => load().catch(() => loadWhenReachable(load)));
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
