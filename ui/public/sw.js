// Shows what is pushed to this browser, and opens its conversation on a click. There is no fetch handler: nothing of the
// page and no answer of the server is ever cached here.
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(show(read(event.data))));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data.path));
});

function read(data) {
  try {
    const { title, body, url, tag } = data.json();
    const place = new URL(url, self.location.origin);
    const path = place.origin === self.location.origin ? place.pathname + place.search : "/";
    return { title: String(title), body: String(body), tag: String(tag), path };
  } catch {
    return { title: "Homing", body: "There is something new.", tag: "homing", path: "/" };
  }
}

/** The same tag replaces its notification without a second sound. */
async function show({ title, body, tag, path }) {
  if ((await windows()).some((one) => one.visibilityState === "visible" && isAt(one, path))) return;
  await self.registration.showNotification(title, { body, tag, icon: "/icon-192.png", data: { path } });
}

async function open(path) {
  const found = await windows();
  const one = found.find((other) => isAt(other, path)) ?? found[0];
  if (!one) return self.clients.openWindow(path);
  // The page goes there by itself, also if the browser keeps its window where it is; nothing is loaded again.
  await one.focus().catch(() => undefined);
  one.postMessage({ open: path });
}

const windows = () => self.clients.matchAll({ type: "window", includeUncontrolled: true });
const isAt = (one, path) => new URL(one.url).pathname === new URL(path, self.location.origin).pathname;
