"""A house in use: conversations, automations with a history, one that fails, and a delivery that nobody took."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from e2e.page.house import ZONE, House, wait_until
from homing.testing import StubModelServer, WebhookReceiver, tool_call

PRICES = """Three prices moved since yesterday:

- **Apples** 2.49 €, up 0.20
- **Pears** 2.99 €, down 0.20
- **Plums** 3.79 €, down 0.20"""
CHECK = {
    "action": "add",
    "when": "every weekday at 8",
    "name": "fruit prices",
    "message": "Look at the fruit prices and tell me what changed since the last look.",
}
LIBRARIAN = {"remember": "ask", "ask_question": "allow"}
OVERDUE = {"text": "Overdue since Monday: The Periodic Table, Invisible Cities"}
BUY = {"text": "To buy: The Living Mountain (Nan Shepherd), Summer Book (Tove Jansson)"}
SHELF = {"title": "Which shelf do the new books go to?", "options": ["Study", "Hall", "Ask me again in June"]}
STRETCH = {
    "action": "add",
    "when": "in 3 seconds",
    "kind": "reminder",
    "name": "stretch",
    "message": "Time to stretch.",
}


@dataclass(frozen=True, kw_only=True)
class Furnished:
    """Where the things are that pages are opened for."""

    chat: str
    job_id: str
    run_id: str
    failed_run_id: str
    turn_id: str
    failed_turn_id: str
    approval_id: str
    denied_id: str

    def pages(self) -> dict[str, str]:
        """Name every page and its address."""
        return {
            "chat": f"/chat/{self.chat}",
            "automations": "/automations",
            "automation": f"/automations/{self.job_id}",
            "new": "/automations/new",
            "edit": f"/automations/{self.job_id}/edit",
            "run": f"/runs/{self.run_id}",
            "run-failed": f"/runs/{self.failed_run_id}",
            "turn": f"/turns/{self.turn_id}",
            "turn-failed": f"/turns/{self.failed_turn_id}",
            "agents": "/agents",
            "agent": "/agents/main",
            "agent-new": "/agents/new",
            "week": f"/week?week={_busy_monday()}",
            "inbox": "/inbox",
            "asking": "/chat/web:library",
            "approvals": "/approvals",
            "approval": f"/approvals/{self.approval_id}",
            "approval-denied": f"/approvals/{self.denied_id}",
            "deliveries": "/deliveries",
            "settings": "/settings",
            "usage": "/usage",
        }


def _busy_monday() -> date:
    """On a weekend the coming week has more to show."""
    soon = datetime.now(ZoneInfo(ZONE)).date() + timedelta(days=2)
    return soon - timedelta(days=soon.weekday())


def furnish(house: House, stub: StubModelServer, receiver: WebhookReceiver) -> Furnished:
    """Let some life happen in a house."""
    stub.when(
        "weekday morning",
        tool_call("schedule_task", CHECK),
        "Every weekday at 08:00 I look, and tell you here what changed.",
    )
    stub.when("to stretch", tool_call("schedule_task", STRETCH), "I will.")
    stub.when("Look at the fruit prices", PRICES)
    stub.when("backup complete", "Complete: 41 files, 2.3 GB, checked at 03:10.")
    stub.when("feeds I follow", "Two new essays, both short. I put them on your list.")
    stub.fail(401, times=99, match="supplier's portal", message="The API key was refused. It may have been revoked.")
    _make_watch(house, receiver)
    failing = house.job(
        "web:watch", "every weekday at 7:30", "Read the orders in the supplier's portal", name="supplier orders"
    )
    failed = _run(house, failing["id"])
    asked = _make_library(house, stub)
    return _make_chat(house, failed, asked)


def _make_library(house: House, stub: StubModelServer) -> tuple[str, str]:
    """Let an agent ask for two things, of which one is denied, and a question; give the ids of both."""
    house.post("/agents", id="librarian", name="Librarian", tools=LIBRARIAN)
    house.post("/sessions", key="web:library", title="Library", timezone=ZONE, agent_id="librarian")
    stub.when("overdue books", tool_call("remember", OVERDUE), "I asked you whether I may keep that.")
    stub.when(
        "books to buy", tool_call("remember", BUY), tool_call("ask_question", SHELF), "One thing, and a question."
    )
    stub.when("denied by Owner", "Then I leave it.")
    denied, asked = (
        _ask(house, text) for text in ("Which are the overdue books?", "Keep a list of books to buy, please.")
    )
    return asked, denied


def _ask(house: House, text: str) -> str:
    """Say something that makes the librarian ask; what is asked about overdue books is denied."""
    house.post("/sessions/web:library/messages?wait=60", text=text)
    approval = house.get("/approvals?session_key=web:library&limit=1")["items"][0]
    if "overdue" in text:
        house.post(f"/approvals/{approval['id']}", decision="deny", digest=approval["digest"], note="I know them.")
        wait_until(lambda: _says(house, "web:library", "Then I leave it."), "the turn after the denial")
    return approval["id"]


def _make_watch(house: House, receiver: WebhookReceiver) -> None:
    house.session("web:watch", "Night watch")
    address = house.post("/webhooks", url=receiver.url)["address"]
    house.ask("PATCH", "/sessions/web:watch", {"addresses": ["web:watch", address]})
    backup = house.job("web:watch", "0 */6 * * *", "Is last night's backup complete?", name="backup check")
    for _ in range(6):
        _run(house, backup["id"])
    receiver.answer(410)
    _run(house, backup["id"])
    wait_until(lambda: house.get("/deliveries?state=dead")["items"], "the delivery that nobody took")
    house.session("web:reading", "Reading list")
    news = house.job("web:reading", "every day at 18:30", "What is new in the feeds I follow?", name="evening reading")
    _run(house, news["id"])
    house.post(f"/jobs/{news['id']}/disable", reason="on holiday")
    house.job("web:reading", "every monday at 9", "Plan the week from my notes.", name="plan the week")
    house.job("web:reading", "0 10 1 * *", "Sum up what I read last month.", name="monthly summary")
    house.post("/memories", text="Likes apples better than pears")


def _make_chat(house: House, failed_run_id: str, asked: tuple[str, str]) -> Furnished:
    chat = house.session("web:fruit", "Fruit prices")
    house.post(f"/sessions/{chat}/messages?wait=60", text="Remind me in 3 seconds to stretch.")
    wait_until(lambda: _reminded(house, chat), "the reminder")
    house.post(f"/sessions/{chat}/messages?wait=60", text="Tell me each weekday morning what fruit costs.")
    [job] = house.get(f"/jobs?session_key={chat}&q=fruit")["items"]
    run_id = _run(house, job["id"])
    made = next(message for message in house.get(f"/sessions/{chat}/messages")["items"] if message["cards"])
    return Furnished(
        chat=chat,
        job_id=job["id"],
        run_id=run_id,
        failed_run_id=failed_run_id,
        turn_id=made["turn_id"],
        failed_turn_id=house.get(f"/runs/{failed_run_id}")["turn_id"],
        approval_id=asked[0],
        denied_id=asked[1],
    )


def _run(house: House, job_id: str) -> str:
    run_id = house.post(f"/jobs/{job_id}/run")["id"]
    wait_until(lambda: house.get(f"/runs/{run_id}")["finished_at"], "the end of a run")
    return run_id


def _says(house: House, key: str, text: str) -> bool:
    return any(message["text"] == text for message in house.get(f"/sessions/{key}/messages")["items"])


def _reminded(house: House, key: str) -> bool:
    return any(message["kind"] == "reminder" for message in house.get(f"/sessions/{key}/messages")["items"])
