"""What the stub model says: `@deed`, `@look` and their like in what was said last make it call tools, lag or wait.

Every answer is another one, so that whoever reads the logs can tell them apart.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from homing.testing import Reply, WireMessage, tool_call
from homing.testing.replies import Answer, ToolCall, answers_since_user, last_user_text

COMMANDS = "commands.jsonl"
"""In its workspace: a line for each command that was begun."""
SURVIVOR = "homing-torture-survivor"
_VERB = re.compile(r"@(\w+)")
_MARK = re.compile(r"#[\w.]+")


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
        case "quiet":
            return [_call("nothing_to_report")]
        case "broken":
            return [tool_call("deed", '{"what": ')]
        case _:
            return []


def _command() -> Answer:
    """Leave a line that no other command leaves, and processes that must not outlive the command or its time."""
    line = f'{{"token": "{secrets.token_hex(8)}"}}'
    sleep = f"exec -a {SURVIVOR} sleep"
    lasts = secrets.choice(("0", "3600", "3600"))
    command = f"echo '{line}' >> {COMMANDS}; ({sleep} 3600) & {sleep} {lasts}"
    return _call("run_command", command=command, seconds=3)


def _call(name: str, **arguments: Any) -> ToolCall:
    given: Mapping[str, Any] = arguments
    return tool_call(name, given)
