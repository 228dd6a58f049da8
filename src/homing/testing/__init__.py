"""For our tests and yours. In: a script of what the world does. Out: real doubles at Homing's seams, and what they saw.

A stub model server that speaks OpenAI's and Anthropic's protocols, the same script as a Pydantic AI model, a fake
clock, recording and listening channels, a webhook receiver, strict doubles of chat platforms, a throw-away PostgreSQL.
Names load when asked for, so that a fake clock does not cost the import of an agent framework.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homing.testing.channel import RecordingChannel
    from homing.testing.clock import FakeClock
    from homing.testing.discord import DiscordStub
    from homing.testing.listening import ListeningChannel
    from homing.testing.postgres import PostgresServer
    from homing.testing.replies import Reply, WireMessage, fault, tool_call
    from homing.testing.script import Script
    from homing.testing.scripted import ScriptedModel, scripted_model
    from homing.testing.slack import SlackStub
    from homing.testing.stub_server import StubModelServer
    from homing.testing.telegram import TelegramStub
    from homing.testing.webhook_receiver import WebhookReceiver

__all__ = [
    "DiscordStub",
    "FakeClock",
    "ListeningChannel",
    "PostgresServer",
    "RecordingChannel",
    "Reply",
    "Script",
    "ScriptedModel",
    "SlackStub",
    "StubModelServer",
    "TelegramStub",
    "WebhookReceiver",
    "WireMessage",
    "fault",
    "scripted_model",
    "tool_call",
]

_HOMES = {
    "DiscordStub": "discord",
    "FakeClock": "clock",
    "ListeningChannel": "listening",
    "PostgresServer": "postgres",
    "RecordingChannel": "channel",
    "Reply": "replies",
    "Script": "script",
    "ScriptedModel": "scripted",
    "SlackStub": "slack",
    "StubModelServer": "stub_server",
    "TelegramStub": "telegram",
    "WebhookReceiver": "webhook_receiver",
    "WireMessage": "replies",
    "fault": "replies",
    "scripted_model": "scripted",
    "tool_call": "replies",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"homing.testing has no {name!r}; it has {', '.join(__all__)}.")
    return getattr(import_module(f"homing.testing.{_HOMES[name]}"), name)
