// Notifications that arrive while the page is closed: this browser's subscription, and its device on the server.
import { useEffect } from "react";
import { addPush, listPush, removePush } from "./api/operations";
import { navigate } from "./router";

const STORED = "homing.push";
const WORKER = "/sw.js";

/** The device that this browser is on the server; null while notifications are off here. */
export const pushId = () => localStorage.getItem(STORED);

/** Why this browser cannot be notified while the page is closed; null if it can. */
export function whyNoPush(): string | null {
  if (!window.isSecureContext)
    return "This page was not opened over https or at localhost, so the browser gives it no notifications while it is closed.";
  if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window))
    return "This browser cannot do it here. On an iPhone or iPad, add Homing to the home screen first, and open it from there.";
  if (Notification.permission === "denied")
    return "The browser blocks notifications of this page. Allow them in its site settings, then reload.";
  return null;
}

/** Do one thing after another, in every tab of this browser: a renewal under way must not undo what a person chose. */
const alone = (work: () => Promise<void>) => navigator.locks.request(STORED, work);

/** Ask the person, subscribe, and add this browser on the server. */
export const turnPushOn = () => alone(turnOn);

async function turnOn() {
  if ((await Notification.requestPermission()) !== "granted")
    throw new Error(
      "The browser does not allow notifications for this page. Change it in the browser's site settings.",
    );
  const { public_key } = await listPush();
  await navigator.serviceWorker.register(WORKER);
  const { pushManager } = await navigator.serviceWorker.ready;
  let known = await pushManager.getSubscription();
  if (known && keyOf(known) !== public_key) {
    // Of another key than the server has now: nothing would arrive.
    await known.unsubscribe();
    known = null;
  }
  await place(known ?? (await subscribe(pushManager, public_key)), public_key);
}

async function subscribe(manager: PushManager, publicKey: string): Promise<PushSubscription> {
  try {
    return await manager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
  } catch (error) {
    const why = error instanceof Error ? ` (${error.message})` : "";
    throw new Error(`The browser could not reach its push service${why}.`);
  }
}

async function place(subscription: PushSubscription, public_key: string) {
  const { endpoint, keys } = subscription.toJSON();
  if (!endpoint || !keys?.p256dh || !keys.auth) throw new Error("The browser gave a subscription without keys.");
  const body = { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth }, name: browserName(), public_key };
  localStorage.setItem(STORED, (await addPush(body)).id);
}

/** End this browser's subscription, also if the server cannot be told: then its push service tells it later. */
export async function turnPushOff(): Promise<void> {
  if (pushId() !== null) await alone(turnOff);
}

async function turnOff() {
  const id = pushId();
  if (id === null) return;
  const registration = await navigator.serviceWorker.getRegistration(WORKER);
  const subscription = await registration?.pushManager.getSubscription();
  try {
    await Promise.all([subscription?.unsubscribe(), removePush(id)]);
  } finally {
    localStorage.removeItem(STORED);
  }
}

/** A browser may renew its subscription by itself; then the server is told at the next visit. */
export function usePush() {
  useEffect(() => {
    if (!("serviceWorker" in navigator)) return;
    const open = ({ data }: MessageEvent<{ open?: string }>) => data.open && navigate(data.open);
    navigator.serviceWorker.addEventListener("message", open);
    // The next visit tries again.
    if (pushId() !== null && whyNoPush() === null) alone(renew).catch(() => undefined);
    return () => navigator.serviceWorker.removeEventListener("message", open);
  }, []);
}

async function renew() {
  if (pushId() === null) return; // Turned off meanwhile.
  const registration = await navigator.serviceWorker.getRegistration(WORKER);
  const subscription = await registration?.pushManager.getSubscription();
  const { items, public_key } = await listPush();
  const current = items.some(({ id }) => id === pushId());
  if (subscription && current && keyOf(subscription) === public_key) await place(subscription, public_key);
  else {
    // Removed elsewhere, given up by the browser, or of who was signed in here before: their messages must not go on
    // showing up in front of this person. It stays off until a person turns it on.
    await subscription?.unsubscribe();
    localStorage.removeItem(STORED);
  }
}

function keyOf(subscription: PushSubscription): string | null {
  const key = subscription.options.applicationServerKey;
  if (!key) return null;
  const text = btoa(String.fromCharCode(...new Uint8Array(key)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const browsers = { "Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari" };
const systems = {
  Android: "Android",
  iPhone: "iPhone",
  iPad: "iPad",
  Windows: "Windows",
  "Mac OS": "Mac",
  Linux: "Linux",
};

function browserName(): string {
  const named = (words: Record<string, string>) =>
    Object.entries(words).find(([mark]) => navigator.userAgent.includes(mark))?.[1];
  return [named(browsers) ?? "Browser", named(systems)].filter(Boolean).join(" on ");
}
