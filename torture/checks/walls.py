"""Walls between users: in rows, in what a model is shown, in what a receiver gets, and at the door."""

import re
from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence

_MARK = re.compile(r"#([a-z]+)\.\d+")


def rows_of_one_user(evidence: Evidence) -> Iterator[Violation]:
    """Whatever hangs on a session belongs to the session's user."""
    for table in ("turn", "inbound", "run", "job", "delivery"):
        for row in evidence[table]:
            for column in ("session_id", "lane_id"):
                session = evidence.sessions.get(row.get(column, row["session_id"]))
                if session is None or session["user_id"] != row["user_id"]:
                    yield broken(
                        "foreign_row", f"{table} {row['id']} of {row['user_id']} hangs on {column} {row.get(column)}"
                    )
    for run in evidence["run"]:
        if evidence.jobs[run["job_id"]]["user_id"] != run["user_id"]:
            yield broken("foreign_row", f"run {run['id']} of {run['user_id']} is of another's job")
    hooks = {f"webhook:{row['id']}": row["user_id"] for row in evidence["webhook"]}
    for delivery in evidence["delivery"]:
        if hooks.get(delivery["address"], delivery["user_id"]) != delivery["user_id"]:
            yield broken("foreign_row", f"delivery {delivery['id']} goes to another user's {delivery['address']}")


def words_of_one_user(evidence: Evidence) -> Iterator[Violation]:
    """History and memories hold their own user's words."""
    for message in evidence["message"]:
        owner = evidence.sessions[message["session_id"]]["user_id"]
        if strangers := set(_MARK.findall(message["text"])) - {owner}:
            where = f"{message['session_id']}/{message['seq']}"
            yield broken("foreign_words", f"message {where} of {owner} holds words of {', '.join(strangers)}")
    for memory in evidence["memory"]:
        if set(_MARK.findall(memory["text"])) - {memory["user_id"]}:
            yield broken("foreign_words", f"memory {memory['id']} of {memory['user_id']} holds another's words")


def shown_to_one_user(evidence: Evidence) -> Iterator[Violation]:
    """No model call mixes users; no letter goes to another's receiver; no foreign door opens."""
    for call in evidence.calls:
        users = {user for _, text in call.said for user in _MARK.findall(text)}
        if len(users) > 1:
            yield broken("foreign_words", f"call {call.number} shows a model the words of {', '.join(sorted(users))}")
    for letter in evidence.letters:
        user = letter.path.removeprefix("/hook/").partition("/")[0]
        session = str(letter.event.get("data", {}).get("session_key", ""))
        if not session.startswith(f"web:{user}-"):
            yield broken("foreign_words", f"letter {letter.number} about {session} went to {user}")
    for line in evidence.told("peek"):
        if line["status"] != 404:
            yield broken("foreign_door", f"{line['user']} asked for {line['path']} and got {line['status']}")


CHECKS = (rows_of_one_user, words_of_one_user, shown_to_one_user)
