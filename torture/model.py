"""What the stub model says: `@deed`, `@look` and their like in what was said last make it call tools, lag or wait.

Every answer is another one, so that whoever reads the logs can tell them apart.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from homing.testing import Reply, WireMessage, tool_call
from homing.testing.replies import Answer, ToolCall, answers_since_user, last_user_text

COMMANDS = "commands.jsonl"
"""In its workspace: a line for each command that was begun."""
ASKED = ("asked-1", "asked-2")
"""Agents that others write to: main to the first, and each to the other."""
_VERB = re.compile(r"@(\w+)")
_MARK = re.compile(r"#[\w.]+")


def sleeper(folder: str) -> str:
    """Name the processes that commands of one campaign start: others may be under way on the same machine."""
    return f"homing-torture-{hashlib.sha256(folder.encode()).hexdigest()[:12]}"


def play(messages: Sequence[WireMessage]) -> Answer:
    """Answer whoever calls."""
    text, nth = last_user_text(messages), answers_since_user(messages)
    verbs, marks = _VERB.findall(text), _MARK.findall(text)
    verb, mark = verbs[-1] if verbs else "", marks[-1] if marks else "nobody"
    if nth < len(calls := _calls(verb, mark)):
        return calls[nth]
    words = f"Heard {mark} ({secrets.token_hex(4)})."
    match verb:
        case "slow":
            return Reply(chunks=[f"{word} " for word in (*words.split(), "and", "slowly", "so")], delay_seconds=0.2)
        case "gate":
            return Reply(text=words, hold=True)
        case "empty":
            return ""
        case _:
            return words


def _calls(verb: str, mark: str) -> Sequence[Answer]:
    deed, look = _call("deed", what=mark), _call("look", what=mark)
    match verb:
        case "deed":
            return [deed]
        case "look":
            return [look, look]
        case "both":
            return [[deed, look, _call("deed", what=f"{mark} again")]]
        case "plan":
            return [_call("schedule_task", action="add", when="in 2 seconds", message=f"{mark} planned", reminder=True)]
        case "keep":
            return [_call("remember", text=f"{mark} {secrets.token_hex(4)}")]
        case "run":
            return [_command()]
        case "file":
            path = f"{mark[1:]}.txt"
            return [_call("write_file", path=path, text=mark), _call("edit_file", path=path, old=mark, new=f"{mark}!")]
        case "ask":
            return [_call("send_message", to=ASKED[0], text=f"{mark} {secrets.token_hex(4)}")]
        case "chain" | "back":
            # Who is asked so asks the other one, until the brake stops it.
            to, on = (ASKED[0], "@back") if verb == "chain" else (ASKED[1], "@chain")
            return [_call("send_message", to=to, text=f"{mark} {secrets.token_hex(4)} {on}")]
        case "quiet":
            return [_call("nothing_to_report")]
        case "broken":
            return [tool_call("deed", '{"what": ')]
        case _:
            return []


def _command() -> Answer:
    """Leave a line that no other command leaves, and processes that must not outlive the command or its time."""
    line = f'{{"token": "{secrets.token_hex(8)}"}}'
    sleep = f"exec -a {sleeper(os.environ['HOMING_HOME'])} sleep"
    lasts = secrets.choice(("0", "3600", "3600"))
    command = f"echo '{line}' >> {COMMANDS}; ({sleep} 3600) & {sleep} {lasts}"
    return _call("run_command", command=command, seconds=3)


def _call(name: str, **arguments: Any) -> ToolCall:
    given: Mapping[str, Any] = arguments
    return tool_call(name, given)
