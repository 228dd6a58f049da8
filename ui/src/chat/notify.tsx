// The browser's notifications: offered beside the first countdown, never asked for unbidden, shown only while nobody looks.
import { useEffect, useState } from "react";
import { onArrival } from "../api/live";
import type { Message } from "../api/types";
import { Icon } from "../parts/Icon";
import { toast, toastError } from "../parts/toasts";
import { pushId } from "../push";
import { navigate, pathTo } from "../router";
import { nowMs } from "../time/clock";

const SETTING = "homing.notify";
const SOON_MS = 3_600_000;

export const canNotify = () => "Notification" in window;
export const notifying = () =>
  canNotify() && Notification.permission === "granted" && localStorage.getItem(SETTING) !== "off";

export async function turnNotify(on: boolean): Promise<boolean> {
  if (!on) {
    localStorage.setItem(SETTING, "off");
    return false;
  }
  const answer = await Notification.requestPermission();
  if (answer !== "granted") {
    toastError(
      new Error("The browser does not allow notifications for this page. Change it in the browser's site settings."),
    );
    return false;
  }
  localStorage.setItem(SETTING, "on");
  return true;
}

export function NotifyOffer({ soon }: { soon: string | undefined }) {
  const [offered, setOffered] = useState(() => canNotify() && Notification.permission === "default");
  if (!offered || !soon || Date.parse(soon) - nowMs() > SOON_MS) return null;
  async function accept() {
    setOffered(false);
    if (await turnNotify(true)) toast({ text: "You will be told, also while this tab is in the background." });
  }
  return (
    <button type="button" className="button ml-auto" data-look="plain" onClick={() => void accept()}>
      <Icon name="bell" size={15} /> Notify me
    </button>
  );
}

export function useNotifications() {
  useEffect(() => onArrival(show), []);
}

function show(message: Message) {
  // Where notifications are pushed, the service worker shows this one.
  if (!message.unasked || !document.hidden || !notifying() || pushId() !== null) return;
  const title = message.meta.cron_job_name ?? "Homing";
  const note = new Notification(title, {
    body: message.text.slice(0, 200),
    tag: `${message.session_key}#${message.seq}`,
    icon: "/mark.svg",
  });
  note.onclick = () => {
    window.focus();
    navigate(pathTo.message(message.session_key, message.seq));
  };
}
