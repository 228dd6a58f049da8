"""Packages of an agent: the card that shows a lock, and an admin's own change of them (rule 44).

An admin's own change is the same row as a request of an agent, answered as it is made: the engine builds it in the same
way, and the agent's environment changes only then.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from homing.model.agents import Agent
from homing.model.approvals import Approval
from homing.model.errors import Conflict, Failed
from homing.model.packages import LockedPackage, PackageLock, PackageRequest, Resolved, canonical, names_gone
from homing.model.sessions import Session
from homing.operations.approvals import Request, add_answered, check_decides
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.operations.homes import home_of
from homing.operations.shapes.agent import PackagesAsk
from homing.store import approvals, environments, lanes, people

INSTALL = "install_packages"
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class OwnPackages:
    """What an admin wants an agent to have, looked up; None where nothing changes."""

    wanted: PackageRequest | None = None
    resolved: Resolved | None = None
    base: PackageLock | None = None


SAME = OwnPackages()


def package_card(
    agent: Agent,
    wanted: PackageRequest,
    resolved: Resolved,
    now: datetime,
    *,
    base: PackageLock | None,
    reason: str | None = None,
    replaces: str | None = None,
) -> Request:
    """Make the request whose arguments are the whole lock, spelled so that people can read it."""
    lock, new, gone = resolved.lock, [one for one in resolved.packages if one.new], names_gone(wanted, base)
    args: dict[str, object] = {
        "asked": {name: list(value) for name in ("pip", "npm", "apt") if (value := getattr(wanted, name))},
        "packages": [_line(package) for package in resolved.packages],
        "download_bytes": resolved.total_bytes,
        "warnings": list(_warnings(resolved, now)),
        "environment": lock.digest,
        "lock": lock.plain() | {"pip_lock": lock.pip_lock.split("\n"), "npm_lock": json.loads(lock.npm_lock or "null")},
    }
    if wanted.whole:
        args |= {"whole": True, "removed": list(gone)}
    if wanted.apt:
        args["by_hand"] = f"sudo apt install {' '.join(wanted.apt)}"
    return Request(
        tool=INSTALL,
        args=args,
        title=_title(agent, wanted, len(new), gone),
        reason=reason,
        audience="admin",
        replaces=replaces,
        only_for_packages=True,
    )


def _title(agent: Agent, wanted: PackageRequest, new: int, gone: Iterable[str]) -> str:
    asked = (*wanted.pip, *wanted.npm, *wanted.apt)
    names = f"{', '.join(asked[:_NAMED])}{' …' if len(asked) > _NAMED else ''}"
    if new:
        return f"Install {'1 package' if new == 1 else f'{new} packages'} for {agent.name}: {names}"
    if wanted.whole:
        return f"Change the packages of {agent.name}: without {', '.join(gone)}"
    return f"{agent.name} asks for packages of this machine: {names}"


def _line(package: LockedPackage) -> str:
    size = "size unknown" if package.bytes is None else f"{package.bytes} bytes"
    at = "age unknown" if package.published_at is None else f"published {package.published_at:%Y-%m-%d}"
    news = ["new"] if package.new else []
    asked = ["asked for"] if package.asked else ["needed by others"]
    return ", ".join([f"{package.manager} {package.name} {package.version}", size, at, *news, *asked])


def _warnings(resolved: Resolved, now: datetime) -> Iterable[str]:
    for package in resolved.young(now):
        yield f"{package.name} {package.version} was published within the last 7 days."
    for package in resolved.of_unknown_age():
        yield f"The release date of {package.name} {package.version} is unknown."


def asked_in(args: Mapping[str, Any]) -> PackageRequest:
    """Read the names that a card shows."""
    names: dict[str, Any] = {name: tuple(names) for name, names in args["asked"].items()}
    return PackageRequest(**names, whole=args.get("whole", False))


def lock_in(args: Mapping[str, Any]) -> PackageLock:
    """Read the lock that a card shows."""
    plain = cast("dict[str, Any]", args["lock"])
    npm = "" if plain["npm_lock"] is None else canonical(plain["npm_lock"])
    lock = PackageLock.read(plain | {"pip_lock": "\n".join(plain["pip_lock"]), "npm_lock": npm})
    if lock.digest != args["environment"]:
        raise Failed("The lock is not the one that was shown.")
    return lock


async def look_up_own(desk: Desk, agent_id: str | None, given: PackagesAsk | None) -> OwnPackages:
    """Look up what an admin wants an agent, or one that is not made yet, to have; nothing is installed."""
    wanted = PackageRequest(
        pip=tuple(given.pip or ()) if given else (), npm=tuple(given.npm or ()) if given else (), whole=True
    )

    def look(ctx: Context) -> PackageLock | None:
        check_decides(ctx)
        return environments.of_agent(ctx.tx, agent_id) if agent_id is not None else None

    base = await desk.read(look)
    if (wanted.pip, wanted.npm) == ((base.pip, base.npm) if base else ((), ())):
        return SAME
    try:
        resolved = await desk.hands.resolve_packages(wanted, base)
    except Failed as error:
        raise Conflict(error.detail) from None
    return OwnPackages(wanted=wanted, resolved=resolved, base=base)


def hold_own_home(ctx: Context) -> tuple[Session, int]:
    """Lock the home of the caller, which shows their change: sessions are locked before agents."""
    user = people.get_user(ctx.tx, ctx.caller.user_id)
    assert user is not None
    home = home_of(ctx.tx, user)
    return home, lanes.enter(ctx.tx, home, unified=ctx.settings.unified_session)


def install_own(ctx: Context, agent: Agent, own: OwnPackages, place: tuple[Session, int]) -> Approval:
    """Write an admin's change of the packages of an agent, whose row is locked, as an approval that they answered."""
    assert own.wanted is not None
    assert own.resolved is not None
    check_decides(ctx)
    last = approvals.last_install(ctx.tx, agent.id)
    if last is not None and last.state in ("approved", "running"):
        raise Conflict(f"Packages of {agent.name} are being installed now ({last.id}). Change them when that is done.")
    if agent.environment != own.resolved.lock.base:
        raise Conflict(f"Other packages were installed for {agent.name} meanwhile. Look at them, then change them.")
    request = package_card(agent, own.wanted, own.resolved, ctx.now, base=own.base)
    return add_answered(ctx, agent.id, request, place)
