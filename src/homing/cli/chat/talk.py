"""One conversation: what the person says goes out, what the stream brings is shown, Ctrl-C stops an answer."""

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rich.text import Text

from homing.cli.chat.paper import Paper, silent_keys
from homing.cli.chat.stream import Event, Stream
from homing.cli.lookup import find_agent
from homing.cli.problems import Problem, refused, spoken
from homing.cli.visible import visible
from homing.cli.widgets import QUIET
from homing.client.base import BaseClient
from homing.model.contract import Json

_SHOWN_AT_START = 6
_TWICE_SECONDS = 2.0
_HELP = """Write, and press Enter; the arrow keys bring back what you wrote before.
Ctrl-C stops an answer; twice, or Ctrl-D, leaves.
/jobs      the automations of this conversation
/schedule  WHEN: WHAT, such as /schedule every weekday at 8: look at the news
/remind    the same, sent to you word for word
/file      PATH attaches a file to your next message
/model     which model answers here; /model NAME chooses one, /model auto the agent's
/agent     who answers here; /agent NAME lets another agent answer
/quit      leave"""
COMMANDS = ("/jobs", "/schedule", "/remind", "/file", "/model", "/agent", "/help", "/quit")


class Talk:
    """A person and a session."""

    def __init__(self, server: BaseClient, stream: Stream, session: Json, paper: Paper) -> None:
        self._server = server
        self._stream = stream
        self._key = session["key"]
        self._paper = paper
        self._lock = threading.Lock()
        self._seen = 0
        self._arrived = self._read = 0
        """The newest message shown here that came unasked, and the one up to which the server knows it was read."""
        self._mine: dict[str, str | None] = {}
        """What I said here, and the turn that took it."""
        self._answered = threading.Event()
        self._asked_at: float | None = None
        """When Ctrl-C last asked for a stop."""
        self._connected = threading.Event()
        self._files: list[str] = []
        """What goes with the next message."""

    def run(self) -> None:
        """Talk until the person leaves."""
        self._show_last()
        self._mark_read()
        follower = threading.Thread(target=self._follow, name="stream", daemon=True)
        follower.start()
        self._connected.wait(5)
        try:
            while (given := self._listen()) is not None:
                self._asked_at = None
                self._mark_read()
                if given and not self._command(given):
                    self._send(given)
        except KeyboardInterrupt:
            # Pressed again before anybody listened for it.
            self._paper.console.print()
        finally:
            self._mark_read()
            self._stream.leave()
            follower.join(2)

    def _listen(self) -> str | None:
        while True:
            try:
                return self._paper.ask().strip()
            except EOFError:
                self._paper.console.print()
                return None
            except KeyboardInterrupt:
                # It may have been meant for an answer that has just ended, or for a scheduled one that runs now.
                self._paper.console.print()
                if self._is_second():
                    return None
                self._stop_turn()

    def _command(self, given: str) -> bool:
        word, _, rest = given.partition(" ")
        acts = {
            "/agent": self._agent,
            "/model": self._model,
            "/file": self._attach,
            "/schedule": self._schedule,
            "/remind": self._remind,
        }
        if act := acts.get(word.lower()):
            try:
                act(rest.strip())
            except Problem as problem:
                self._paper.say(Text(spoken(problem), style="red"))
            return True
        match given.lower():
            case "/quit" | "/exit" | "/q":
                raise EOFError
            case "/help" | "/?":
                self._paper.say(Text(_HELP, style=QUIET))
            case "/jobs":
                self._jobs()
            case _:
                return False
        return True

    def _jobs(self) -> None:
        from homing.cli.jobs.tables import jobs_table

        found = list(self._server.pages("list_jobs", session_key=self._key, recent=10))
        self._paper.say(jobs_table(found))

    def _schedule(self, given: str) -> None:
        self._add_job(given, "/schedule", {})

    def _remind(self, given: str) -> None:
        self._add_job(given, "/remind", {"payload": {"kind": "reminder"}})

    def _add_job(self, given: str, command: str, more: Json) -> None:
        when, _, message = given.partition(": ")
        if not message.strip():
            raise refused(f"Write {command} WHEN: WHAT, such as {command} tomorrow at 9: call mom")
        from homing.cli.jobs.tables import changed

        job = self._server.ask("add_job", session_key=self._key, when=when, message=message.strip(), **more)
        self._paper.say(changed(job, f'Added "{job["name"]}" ({job["id"]}).'))

    def _attach(self, given: str) -> None:
        """Send a file along with the next message."""
        if not given:
            raise refused("Write /file PATH.")
        file = self._server.add_file(Path(given).expanduser())
        self._files.append(file["id"])
        self._paper.say(Text(f"Goes with your next message: {file['name']}", style=QUIET))

    def _model(self, wanted: str) -> None:
        """Say which model answers here, or choose another for this conversation."""
        if wanted:
            chosen = None if wanted.lower() == "auto" else wanted
            self._server.ask("update_session", session_key=self._key, model=chosen)
        session = self._server.ask("get_session", session_key=self._key)
        agent = self._server.ask("get_agent", agent_id=session["agent_id"])
        own = session.get("model")
        told = (
            f"{own} answers here."
            if own
            else f"{agent['model_in_effect']} answers here, as for all of {agent['name']}."
        )
        self._paper.say(Text(f"{told} /model NAME changes it for this conversation.", style=QUIET))

    def _agent(self, wanted: str) -> None:
        """Say who answers here, or let another agent answer from now on."""
        if wanted:
            agent = find_agent(self._server, wanted)
            self._server.ask("update_session", session_key=self._key, agent_id=agent["id"])
            told = f"{agent['name']} ({agent['id']}) answers from now on, also this conversation's automations."
        else:
            agents = {agent["id"]: agent["name"] for agent in self._server.pages("list_agents")}
            mine = self._server.ask("get_session", session_key=self._key)["agent_id"]
            others = [f"{name} ({id_})" for id_, name in agents.items() if id_ != mine]
            also = f"Others: {', '.join(others)}. /agent NAME changes it." if others else "There is no other."
            told = f"{agents.get(mine, mine)} ({mine}) answers here. {also}"
        self._paper.say(Text(told, style=QUIET))

    def _send(self, given: str) -> None:
        self._answered.clear()
        try:
            # The stream may bring the message before its id is known here: it waits until it can be recognised as mine.
            with self._lock:
                files = {"files": self._files} if self._files else {}
                sent = self._server.ask("send_message", session_key=self._key, text=given, **files)
                self._files = []
                self._mine[sent["inbound_id"]] = self._mine.get(sent["inbound_id"])
        except Problem as problem:
            self._paper.say(Text(spoken(problem), style="red"))
            return
        with silent_keys():
            self._paper.begin("waiting its turn" if sent["will"] == "queue" else "thinking")
            self._wait()
            self._paper.end()

    def _wait(self) -> None:
        """Wait for the answer. The first Ctrl-C asks to stop it; a second one soon after leaves."""
        while True:
            try:
                if self._answered.wait(0.2):
                    return
            except KeyboardInterrupt:
                if self._is_second():
                    raise EOFError from None
                self._stop_turn()

    def _is_second(self) -> bool:
        return self._asked_at is not None and time.monotonic() - self._asked_at < _TWICE_SECONDS

    def _stop_turn(self) -> None:
        try:
            stopped = self._server.ask("cancel_turn", session_key=self._key)["cancelled"]
            given = Text(f"{'Stopping' if stopped else 'Nothing to stop'}. Ctrl-C again leaves.", style=QUIET)
        except Problem as problem:
            given = Text(spoken(problem), style="red")
        self._paper.say(given)
        # From when it can be read: a server that is slow to answer must not use up the time.
        self._asked_at = time.monotonic()

    def _show_last(self) -> None:
        last = self._server.ask("list_messages", session_key=self._key, limit=_SHOWN_AT_START)
        for message in last["items"]:
            self._show(message)

    def _mark_read(self) -> None:
        """Who writes or leaves has read what stands above. From this thread: the connection is not the follower's."""
        if (arrived := self._arrived) <= self._read:
            return
        self._read = arrived
        # A mark that could not be set must not disturb the conversation.
        with suppress(Problem):
            self._server.ask("mark_read", session_key=self._key, seq=arrived)

    def _follow(self) -> None:
        try:
            for event in self._stream.events():
                self._take(event)
        except Problem as problem:
            self._paper.say(Text(spoken(problem), style="red"))
            self._answered.set()

    def _take(self, event: Event) -> None:
        match event.noun:
            case "hello":
                self._connected.set()
            case "message":
                self._hear(event.data)
            case "text":
                self._paper.write(event.data["text"], whole=event.data["whole"])
            case "step" if event.data["state"] == "started" and event.data["kind"] == "tool":
                self._paper.begin(f"using {event.data['name']}")
            case "session" if event.data["state"] == "idle" and event.data["lane_size"] == 0:
                self._rest()
            case _:
                pass

    def _hear(self, message: Json) -> None:
        with self._lock:
            mine = message["inbound_id"] in self._mine
            if mine:
                self._mine[message["inbound_id"]] = message["turn_id"]
            closes = message["role"] == "assistant" and message["turn_id"] in self._mine.values()
        if not (mine and message["role"] == "user"):
            self._show(message)
        self._seen = max(self._seen, message["seq"])
        if closes:
            self._answered.set()

    def _rest(self) -> None:
        """The lane is empty: whatever I said was taken. This also ends the wait for a turn that left no words."""
        with self._lock:
            if self._mine and all(turn is not None for turn in self._mine.values()):
                self._mine.clear()
                self._answered.set()

    def _show(self, message: Json) -> None:
        if message["seq"] > self._seen:
            self._seen = message["seq"]
            if message.get("unasked"):
                self._arrived = message["seq"]
            self._paper.message(message)


def talk_plainly(server: BaseClient, opened: Callable[[], Json]) -> None:
    """Talk when nobody sits at a terminal: a line in, its answer out. Without a line no session is opened."""
    key = ""
    for line in sys.stdin:
        if not line.strip():
            continue
        key = key or opened()["key"]
        answer = server.ask("send_message", session_key=key, text=line.strip(), mode="queue", wait=120)
        message = answer.get("message")
        sys.stdout.write(visible(message["text"] if message else "No answer within two minutes.") + "\n")
        sys.stdout.flush()
