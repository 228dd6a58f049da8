"""Notifications of a closed page: turned on in Settings, shown once by a real service worker, opened by a click.

`pushManager.subscribe` asks a push service on the internet: that one call is answered here with keys of the test's own.
The server, the page and the service worker are real; the push is decrypted as a browser does and handed to chromium.
"""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, Worker, expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until
from homing.channels import Part
from homing.channels.push import PushChannel, Target
from homing.engine.courier import Courier
from homing.engine.scheduler import Scheduler
from homing.model.clock import SystemClock
from homing.settings import load
from homing.store import push
from homing.testing import FakeClock
from homing.wiring import make_push_key, wire
from support.push import Browser, Pushed, PushService

pytestmark = pytest.mark.slow

# A subscription lives in its browser, so the next page of the window finds it again.
SUBSCRIBE = """
(() => {
  const mine = %s;
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const made = (key) => ({
    options: { applicationServerKey: bytes(key).buffer },
    toJSON: () => mine,
    unsubscribe: async () => { localStorage.removeItem("test.subscribed"); return true; },
  });
  if (!("PushManager" in window)) return;
  PushManager.prototype.subscribe = async function (options) {
    if (!options.userVisibleOnly) throw new Error("a notification must be seen");
    localStorage.setItem("test.subscribed", options.applicationServerKey);
    return made(options.applicationServerKey);
  };
  PushManager.prototype.getSubscription = async function () {
    const key = localStorage.getItem("test.subscribed");
    return key && made(key);
  };
})();
"""


def settings_of(house: House, open_one: OpenWindow, browser: Browser) -> Page:
    """Open Settings in a window that may show notifications."""
    page = open_one(house).open("/healthz")
    page.context.grant_permissions(["notifications"], origin=house.url)
    page.context.add_init_script(SUBSCRIBE % json.dumps(browser.subscription))
    page.goto(f"{house.url}/settings")
    return page


def turn_on(page: Page, house: House) -> Any:
    notifications = page.get_by_role("region", name="Notifications")
    notifications.get_by_role("button", name="Turn on in this browser").click()
    expect(notifications.get_by_role("button", name="Turn off in this browser")).to_be_visible()
    # Other browsers of this house may be left from other tests.
    mine = page.evaluate("localStorage.getItem('homing.push')")
    [device] = [one for one in house.get("/push")["items"] if one["id"] == mine]
    return device


def test_notifications_are_turned_on_tested_listed_and_removed(house: House, new_window: OpenWindow) -> None:
    house.session("web:push", "Push")
    browser = Browser()
    page = settings_of(house, new_window, browser)
    notifications = page.get_by_role("region", name="Notifications")
    device = turn_on(page, house)
    assert device["name"].startswith("Chrome on ")
    assert violations(page) == []
    assert json.loads(house.command("push", "list", "--json"))["id"] == device["id"]

    notifications.get_by_role("button", name=f"Send test to {device['name']}").click()
    tested = wait_until(
        lambda: [one for one in house.get("/deliveries")["items"] if one["address"] == f"push:{device['id']}"],
        "the test is on its way",
    )
    assert len(tested) == 1

    # The next visit adds it again under its id; a page of today cannot know that it is current.
    page.reload()
    expect(notifications.get_by_role("button", name="Turn off in this browser")).to_be_visible()
    assert [one["id"] for one in house.get("/push")["items"]] == [device["id"]]
    notifications.get_by_role("button", name="Turn off in this browser").click()
    expect(notifications.get_by_role("button", name="Turn on in this browser")).to_be_visible()
    assert house.get("/push")["items"] == []
    assert page.evaluate("localStorage.getItem('test.subscribed')") is None

    device = turn_on(page, house)
    house.command("push", "remove", device["id"])
    page.reload()
    expect(notifications.get_by_role("button", name="Turn on in this browser")).to_be_visible()
    assert page.evaluate("localStorage.getItem('homing.push')") is None


def test_a_renewal_under_way_does_not_undo_turning_off(house: House, new_window: OpenWindow) -> None:
    page = settings_of(house, new_window, Browser())
    device = turn_on(page, house)
    held: list[Route] = []
    page.route("**/api/push", lambda route: held.append(route) if route.request.method == "POST" else route.fallback())
    page.reload()
    notifications = page.get_by_role("region", name="Notifications")
    notifications.get_by_role("button", name="Turn off in this browser").click()
    wait_until(lambda: page.wait_for_timeout(50) or held, "the page renews its subscription")
    held[0].continue_()
    expect(notifications.get_by_role("button", name="Turn on in this browser")).to_be_enabled()
    assert device["id"] not in [one["id"] for one in house.get("/push")["items"]]
    assert page.evaluate("localStorage.getItem('homing.push')") is None


def test_signing_out_ends_the_notifications_of_this_browser(house: House, new_window: OpenWindow) -> None:
    page = settings_of(house, new_window, Browser())
    turn_on(page, house)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    assert house.get("/push")["items"] == []


def test_who_signs_in_next_is_not_shown_the_messages_of_who_was_here_before(
    house: House, new_window: OpenWindow
) -> None:
    page = settings_of(house, new_window, Browser())
    turn_on(page, house)
    # The owner's sign-in ended without signing out; the browser is still theirs on the server.
    other = house.post("/tokens", user="ben")["token"]
    signed = page.request.post(
        f"{house.url}/api/auth/sign-in", data={"token": other}, headers={"Origin": house.url}
    ).json()
    page.evaluate("([key]) => localStorage.setItem('homing.key', key)", [signed["key"]])
    page.goto(f"{house.url}/settings")
    forgotten = "localStorage.getItem('homing.push') === null"
    wait_until(lambda: page.evaluate(forgotten), "the page has forgotten the owner's browser")
    assert page.evaluate("localStorage.getItem('test.subscribed')") is None


def test_quiet_hours_are_set_and_taken_back(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/settings")
    quiet = page.get_by_role("form", name="Quiet hours")
    quiet.get_by_label("Quiet from").fill("21:30")
    quiet.get_by_role("button", name="Save quiet hours").click()
    expect(quiet).to_contain_text("From 21:30 to 07:00")
    assert house.get("/me")["quiet_hours"] == "21:30-07:00"
    assert violations(page) == []
    quiet.get_by_role("button", name="Remove quiet hours").click()
    expect(quiet).to_contain_text("In these hours")
    assert house.get("/me")["quiet_hours"] is None


def test_a_page_that_is_not_secure_says_so_instead_of_offering_it(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/healthz")
    page.context.add_init_script("Object.defineProperty(window, 'isSecureContext', { value: false })")
    page.goto(f"{house.url}/settings")
    notifications = page.get_by_role("region", name="Notifications")
    expect(notifications.get_by_role("note")).to_contain_text("not opened over https or at localhost")
    expect(notifications.get_by_role("button", name="Turn on in this browser")).to_have_count(0)
    assert violations(page) == []


def test_the_page_can_be_installed_and_its_worker_caches_nothing(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/settings")
    manifest = page.request.get(f"{house.url}/manifest.webmanifest")
    assert manifest.headers["content-type"] == "application/manifest+json"
    for icon in manifest.json()["icons"]:
        given = page.request.get(house.url + icon["src"])
        assert (given.status, given.headers["content-type"]) == (200, "image/png")
    worker = page.request.get(f"{house.url}/sw.js")
    assert worker.headers["content-type"].startswith("text/javascript")
    assert worker.headers["cache-control"] == "no-cache"
    assert worker.headers["content-security-policy"].startswith("default-src 'self'")
    found = page.context.new_cdp_session(page).send("Page.getAppManifest")
    assert (found["url"], found["errors"]) == (f"{house.url}/manifest.webmanifest", [])


class Chromium:
    """The service worker of a window, apart from its pages: what is pushed to it, and what it shows."""

    def __init__(self, context: BrowserContext, house: House) -> None:
        self.house = house
        self.worker: Worker = context.service_workers[0]
        # A blank page keeps the window open; it is not one of Homing's.
        self._cdp = context.new_cdp_session(context.new_page())
        self._registrations: list[Any] = []
        self._cdp.on("ServiceWorker.workerRegistrationUpdated", self._note)
        self._cdp.send("ServiceWorker.enable")

    def _note(self, event: Any) -> None:
        self._registrations += event["registrations"]

    def push(self, payload: str) -> None:
        registered = [one for one in self._registrations if one["scopeURL"] == f"{self.house.url}/"]
        found = {"origin": self.house.url, "registrationId": registered[-1]["registrationId"]}
        self._cdp.send("ServiceWorker.deliverPushMessage", {**found, "data": payload})

    def shown(self) -> list[Any]:
        return self.worker.evaluate(
            "async () => (await self.registration.getNotifications())"
            ".map((one) => ({title: one.title, body: one.body, tag: one.tag}))"
        )

    def click(self) -> None:
        self.worker.evaluate(
            "async () => { const [notification] = await self.registration.getNotifications();"
            " self.dispatchEvent(new NotificationEvent('notificationclick', {notification})); }"
        )


def in_thread(work: Callable[[], Any]) -> Any:
    """Run where playwright's event loop is not."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


async def fire_and_push(house: House) -> list[Pushed]:
    """Be the engine of a stopped house an hour later, with a push service that is not on the internet."""
    clock, service = FakeClock(SystemClock().now() + timedelta(hours=1, seconds=1)), PushService()
    homing = wire(load({"HOMING_HOME": str(house.home)}), clock=clock)

    async def find(part: Part) -> Target | None:
        device = await homing.store.read(lambda tx: push.get(tx, part.place))
        return Target(device=device, title=None) if device else None

    channel = PushChannel(
        find,
        key=lambda: make_push_key(house.home),
        subject="https://homing.example.org",
        clock=clock,
        network=service.network,
    )
    await Scheduler(homing.store, homing.instance, clock).step()
    clock.advance(timedelta(seconds=4))
    await Courier(homing.store, homing.instance, {"push": channel}).step()
    await homing.store.close()
    return service.pushed


def test_a_reminder_is_shown_with_the_page_closed_once_and_a_click_opens_it(
    fresh_house: House, new_window: OpenWindow
) -> None:
    house, browser = fresh_house, Browser()
    key = house.session("web:push", "Push")
    page = settings_of(house, new_window, browser)
    turn_on(page, house)
    house.post("/jobs", session_key=key, when="in 1 hour", payload={"kind": "reminder", "message": "Stretch."})
    context = page.context
    chromium = Chromium(context, house)
    page.close()

    house.stop()
    [pushed] = in_thread(lambda: asyncio.run(fire_and_push(house)))
    house.start()

    payload = browser.read(pushed.body).decode()
    told = json.loads(payload)
    chromium.push(payload)
    [shown] = wait_until(chromium.shown, "the notification")
    assert (shown["body"], shown["tag"]) == ("Stretch.", told["tag"])
    # A courier that died before it could write the receipt sends the same again.
    chromium.push(payload)
    chromium.push(json.dumps(told | {"tag": "dlv_other.0", "body": "Something else."}))
    wait_until(lambda: len(chromium.shown()) > 1, "the other notification")
    assert [one["tag"] for one in chromium.shown()].count(told["tag"]) == 1
    assert len(chromium.shown()) == 2

    page = context.new_page()
    page.goto(f"{house.url}/settings")
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    chromium.click()
    page.wait_for_url(f"**{told['url']}")
    expect(page.get_by_role("log")).to_contain_text("Stretch.")


def test_nothing_is_shown_where_the_conversation_is_on_screen_and_garbage_does_no_harm(
    house: House, new_window: OpenWindow
) -> None:
    key = house.session("web:seen", "Seen")
    page = settings_of(house, new_window, Browser("seen"))
    turn_on(page, house)
    chromium = Chromium(page.context, house)
    page.bring_to_front()
    page.goto(f"{house.url}/chat/{key}")
    expect(page.get_by_role("heading", name="Seen")).to_be_visible()
    told = {"title": "Seen", "body": "Stretch.", "url": f"/chat/{key}?at=3", "tag": "dlv_seen.0"}
    chromium.push(json.dumps(told))
    chromium.push(json.dumps(told | {"url": "/chat/web:other?at=3", "tag": "dlv_other.0"}))
    [shown] = wait_until(chromium.shown, "the notification of the other conversation")
    assert shown["tag"] == "dlv_other.0"
    chromium.push("this is not JSON")
    wait_until(lambda: "homing" in {one["tag"] for one in chromium.shown()}, "a plain notification")
    chromium.push(json.dumps(told | {"url": "https://evil.example/", "tag": "dlv_evil.0"}))
    wait_until(lambda: "dlv_evil.0" in {one["tag"] for one in chromium.shown()}, "the notification")
    paths = chromium.worker.evaluate("async () => (await self.registration.getNotifications()).map((n) => n.data.path)")
    assert "/" in paths
    assert not any("evil" in path for path in paths)
