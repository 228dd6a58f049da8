// The pages that are loaded when they are opened. A server out of reach must not cost what stands on the screen.
import { type ComponentType, lazy } from "react";

const loads: (() => Promise<unknown>)[] = [];

function room<P>(load: () => Promise<{ default: ComponentType<P> }>) {
  loads.push(load);
  return lazy(() => load().catch(() => later(load)));
}

export const AutomationsPage = room(() => import("./automations/AutomationsPage"));
export const AutomationPage = room(() => import("./automations/AutomationPage"));
export const EditPage = room(() => import("./automations/EditPage"));
export const RunPage = room(() => import("./runs/RunPage"));
export const WeekPage = room(() => import("./week/WeekPage"));
export const DeliveriesPage = room(() => import("./deliveries/DeliveriesPage"));
export const SettingsPage = room(() => import("./settings/SettingsPage"));

/** Fetch them all while nothing else is to do, so that each opens at once, and also without a server. */
export function fetchRooms() {
  for (const load of loads) load().catch(() => undefined);
}

const PAUSE_MS = 1500;

/** Wait for the server, and try again. */
async function later<T>(load: () => Promise<T>): Promise<T> {
  while (!(await answers())) await new Promise((go) => window.setTimeout(go, PAUSE_MS));
  try {
    return await load();
  } catch (error) {
    reloadOnce();
    throw error;
  }
}

const answers = () =>
  fetch("/healthz", { cache: "no-store" }).then(
    (response) => response.ok,
    () => false,
  );

/** The server was upgraded under an open tab: the parts this page knows are gone, and a new page knows better. */
function reloadOnce() {
  const last = Number(sessionStorage.getItem("homing.reloaded") ?? 0);
  if (Date.now() - last < 60_000) return; // A part that stays missing must not become a wheel.
  sessionStorage.setItem("homing.reloaded", String(Date.now()));
  location.reload();
}
