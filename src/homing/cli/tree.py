"""Every command and where it lives. A command's module is imported when it is called, so that light ones stay light."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from homing import __version__
from homing.cli.light import lightened

_ROOT = "homing.cli."
_START = "A sense of time for AI agents: `homing up` starts everything, `homing chat` talks."
_WAYS = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True, kw_only=True)
class Group:
    """A word that takes another word."""

    help: str
    commands: Mapping[str, str]
    hidden: Mapping[str, str]


JOBS = Group(
    help="Automations: what happens later, or again and again.",
    commands={
        "status": "jobs.reading:status",
        "list": "jobs.reading:list_jobs",
        "add": "jobs.writing:add",
        "get": "jobs.reading:get",
        "update": "jobs.writing:update",
        "remove": "jobs.verbs:remove",
        "enable": "jobs.verbs:enable",
        "disable": "jobs.verbs:disable",
        "run": "jobs.running:run",
        "skip": "jobs.verbs:skip",
        "undo": "jobs.verbs:undo",
        "runs": "jobs.reading:runs",
        "why": "jobs.reading:why",
        "preview": "jobs.reading:preview",
        "try": "jobs.trying:try_job",
        "try-script": "jobs.scripts:try_script",
    },
    hidden={
        "logs": "jobs.reading:runs",
        "pause": "jobs.verbs:disable",
        "resume": "jobs.verbs:enable",
        "show": "jobs.reading:get",
        "rm": "jobs.verbs:remove",
        "ls": "jobs.reading:list_jobs",
    },
)

GROUPS = {
    "cron": JOBS,
    "sessions": Group(
        help="Conversations.",
        commands={
            "list": "sessions:list_sessions",
            "get": "sessions:get",
            "update": "sessions:update",
            "branch": "sessions:branch",
            "export": "sessions:export",
            "read": "sessions:read",
            "test": "sessions:send_test",
            "delete": "sessions:delete",
        },
        hidden={"ls": "sessions:list_sessions", "show": "sessions:get", "rm": "sessions:delete"},
    ),
    "agents": Group(
        help="Agents: who answers, with which model, instructions and tools.",
        commands={
            "list": "agents:list_agents",
            "get": "agents:get",
            "add": "agents:add",
            "update": "agents:update",
            "remove": "agents:remove",
        },
        hidden={
            "ls": "agents:list_agents",
            "show": "agents:get",
            "rm": "agents:remove",
            "delete": "agents:remove",
        },
    ),
    "turns": Group(
        help="What agents did: steps, tokens and cost of each turn.",
        commands={"list": "turns:list_turns", "get": "turns:get"},
        hidden={"ls": "turns:list_turns", "show": "turns:get"},
    ),
    "approvals": Group(
        help="What agents ask to be allowed.",
        commands={
            "list": "approvals:list_approvals",
            "get": "approvals:get",
            "approve": "approvals:approve",
            "deny": "approvals:deny",
        },
        hidden={"ls": "approvals:list_approvals", "show": "approvals:get"},
    ),
    "questions": Group(
        help="What agents want to know.",
        commands={"list": "questions:list_questions", "answer": "questions:answer"},
        hidden={"ls": "questions:list_questions"},
    ),
    "mcp-servers": Group(
        help="Servers whose tools an agent may use.",
        commands={
            "list": "mcp_servers:list_servers",
            "get": "mcp_servers:get",
            "add": "mcp_servers:add",
            "update": "mcp_servers:update",
            "test": "mcp_servers:send_test",
            "accept": "mcp_servers:accept",
            "remove": "mcp_servers:remove",
        },
        hidden={"ls": "mcp_servers:list_servers", "show": "mcp_servers:get", "rm": "mcp_servers:remove"},
    ),
    "model": Group(
        help="The model of this server.",
        commands={"get": "model:get", "set": "model:set_model", "list": "model:list_models"},
        hidden={"ls": "model:list_models", "show": "model:get"},
    ),
    "deliveries": Group(
        help="Messages on their way to other channels.",
        commands={"list": "resources:list_deliveries", "retry": "resources:retry_deliveries"},
        hidden={"ls": "resources:list_deliveries"},
    ),
    "memories": Group(
        help="Lasting facts about you.",
        commands={
            "list": "resources:list_memories",
            "add": "resources:add_memory",
            "confirm": "resources:confirm_memories",
            "remove": "resources:remove_memories",
            "undo": "resources:undo_dream",
        },
        hidden={"ls": "resources:list_memories", "rm": "resources:remove_memories"},
    ),
    "hooks": Group(
        help="URLs for messages from other programs.",
        commands={"add": "resources:add_hook", "list": "resources:list_hooks", "remove": "resources:remove_hooks"},
        hidden={"ls": "resources:list_hooks", "rm": "resources:remove_hooks"},
    ),
    "webhooks": Group(
        help="Your URLs that receive a session's messages.",
        commands={
            "add": "resources:add_webhook",
            "list": "resources:list_webhooks",
            "remove": "resources:remove_webhooks",
        },
        hidden={"ls": "resources:list_webhooks", "rm": "resources:remove_webhooks"},
    ),
    "push": Group(
        help="Your browsers that get notifications.",
        commands={"list": "resources:list_push", "remove": "resources:remove_push"},
        hidden={"ls": "resources:list_push", "rm": "resources:remove_push"},
    ),
    "channels": Group(
        help="Where people can talk to your agents.",
        commands={
            "list": "channels:list_channels",
            "add": "channels:add",
            "update": "channels:update",
            "remove": "channels:remove",
            "kinds": "channels:list_kinds",
            "test": "channels:send_test",
            "link": "contacts:link",
            "verify": "channels:verify",
        },
        hidden={"ls": "channels:list_channels", "rm": "channels:remove"},
    ),
    "contacts": Group(
        help="Who may talk to your agents through a channel.",
        commands={
            "list": "contacts:list_contacts",
            "update": "contacts:update_contact",
            "remove": "contacts:remove_contacts",
        },
        hidden={"ls": "contacts:list_contacts", "rm": "contacts:remove_contacts"},
    ),
    "grants": Group(
        help="Addresses and hosts that an agent may also reach.",
        commands={"list": "resources:list_grants", "add": "resources:add_grant", "remove": "resources:remove_grants"},
        hidden={"ls": "resources:list_grants", "rm": "resources:remove_grants"},
    ),
    "files": Group(
        help="Files of conversations.",
        commands={"list": "files:list_files", "add": "files:add", "get": "files:get"},
        hidden={"ls": "files:list_files"},
    ),
    "tokens": Group(
        help="Tokens: who may use this Homing.",
        commands={
            "create": "tokens:create",
            "list": "tokens:list_tokens",
            "revoke": "tokens:revoke",
            "rotate": "tokens:rotate",
        },
        hidden={"ls": "tokens:list_tokens", "rm": "tokens:revoke"},
    ),
    "db": Group(
        help="The database.",
        commands={"upgrade": "database:upgrade", "backup": "database:backup", "restore": "database:restore"},
        hidden={},
    ),
}

COMMANDS = {
    "up": "process:up",
    "chat": "chat.command:chat",
    "send": "sending:send",
    "open": "opening:open_page",
    "status": "jobs.reading:status",
    "watch": "watching:watch",
    "inbox": "inbox:inbox",
    "search": "search:search",
    "usage": "usage:usage",
    "serve": "process:serve",
    "work": "process:work",
    "doctor": "doctor:doctor",
    "mcp": "mcp:mcp",
    "import": "transfer:import_file",
    "export": "transfer:export",
}


class Command(TyperCommand):
    """A command whose parameters are read lightly."""

    def get_params(self, ctx: Any) -> Any:
        return _without_bool(lightened(super().get_params(ctx)))


class Lazy(TyperGroup):
    """A group whose commands are looked up in a table and imported when they are asked for."""

    groups: Mapping[str, Group]
    table: Mapping[str, str]
    hidden_table: Mapping[str, str]

    def get_params(self, ctx: Any) -> Any:
        return _without_bool(lightened(super().get_params(ctx)))

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.table, *self.groups]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:
        if cmd_name in self.groups:
            return _group(cmd_name, self.groups[cmd_name])
        if cmd_name == "jobs" and "cron" in self.groups:
            return _group(cmd_name, self.groups["cron"], hidden=True)
        if cmd_name in self.table:
            return _command(cmd_name, self.table[cmd_name])
        if cmd_name in self.hidden_table:
            return _command(cmd_name, self.hidden_table[cmd_name], hidden=True)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # For "did you mean": Typer looks among commands that are built already, and ours are not.
        self.commands = dict.fromkeys(self.list_commands(ctx))  # type: ignore[assignment]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            raise typer.Exit
        return super().parse_args(ctx, args)


def _without_bool(parameters: list[Any]) -> list[Any]:
    """Leave the type of a flag out of the help: there is nothing to write after it."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.display_type_rich = _no_type
    return parameters


def _no_type(ctx: Any) -> None:
    """Name no type."""


def tree() -> TyperGroup:
    """Grow the whole command line."""
    app = typer.Typer(cls=Lazy, help=_START, context_settings=_WAYS)
    app.callback()(_root)
    root = get_command(app)
    assert isinstance(root, Lazy)
    root.groups, root.table, root.hidden_table = GROUPS, COMMANDS, {}
    return root


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_tell_version)
    ] = False,
) -> None:
    """Hold the root together; what it says stands in `_START`."""


def _group(name: str, group: Group, *, hidden: bool = False) -> TyperGroup:
    app = typer.Typer(name=name, cls=Lazy, help=group.help, hidden=hidden, context_settings=_WAYS, add_completion=False)
    app.callback()(_nothing)
    made = get_command(app)
    assert isinstance(made, Lazy)
    made.groups, made.table, made.hidden_table = {}, group.commands, group.hidden
    made.help = group.help
    return made


def _command(name: str, where: str, *, hidden: bool = False) -> TyperCommand:
    module, _, function = where.partition(":")
    app = typer.Typer(context_settings=_WAYS, add_completion=False)
    app.command(name, cls=Command, hidden=hidden)(getattr(import_module(_ROOT + module), function))
    made = get_command(app)
    assert isinstance(made, TyperCommand)
    return made


def _nothing() -> None:
    """Hold a group together; Typer wants a callback to know that it is one."""
