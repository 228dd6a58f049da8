"""What a plan is: it asks for tool calls, is sent their results, and ends in what to say."""

from collections.abc import Generator
from typing import TypeAlias

from homing.agent.offline.scene import Call, Result

Plan: TypeAlias = Generator[list[Call], list[Result], str]

LABEL = "Offline mode (not an AI): "

NOT_OFFERED = (
    "I cannot do that here: the tool {tool} is not available to this agent."
    " `homing agents get` shows which are, and why one is not."
)

HELP = """\
this is what I can do without a model:
- remind me in 2 minutes to stretch
- every weekday at 8 say good morning
- set a timer for 10 minutes · snooze 10 minutes · move dentist to tomorrow at 10 · what time is it in Tokyo
- list · pause 2 · resume 2 · cancel 2 · cancel all · skip 2 · run 2 · why 2 · undo · again in 10m
- fetch https://example.org · run ls (in an automation: $ ls) · what is in notes.txt · list files
- remember that the key is under the mat · what did I say about apples · when is my sister's birthday · forget apples
- help

Numbers are those of the last list; names, or words of them, work too. For real conversation choose a model: \
Settings → Model on the page, or `homing model set`."""


def say(text: str) -> Plan:
    """Say something; no tool is needed."""
    yield from ()
    return text
