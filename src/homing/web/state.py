"""What every endpoint has at hand."""

from dataclasses import dataclass

from homing.model.clock import Clock
from homing.operations.context import Instance
from homing.settings import Settings
from homing.store import Store
from homing.web.callers import Authenticator
from homing.web.limits import Buckets, Limits, Proofs
from homing.web.stream import Streams


@dataclass(frozen=True, kw_only=True)
class AppState:
    """The parts of one app."""

    store: Store
    instance: Instance
    clock: Clock
    authenticator: Authenticator
    requests: Buckets
    sign_ins: Buckets
    hook_proofs: Proofs
    streams: Streams

    @property
    def settings(self) -> Settings:
        return self.instance.settings


def make_state(store: Store, instance: Instance, clock: Clock, limits: Limits) -> AppState:
    """Make the parts of one app."""
    # Apart: made-up hooks must not use up the tries of those who send tokens.
    bearers, hooks = (Proofs(clock, per_minute=limits.wrong_proofs_per_minute) for _ in range(2))
    return AppState(
        store=store,
        instance=instance,
        clock=clock,
        authenticator=Authenticator(store, instance.settings, bearers),
        requests=Buckets(clock, per_second=limits.requests_per_second, at_once=limits.requests_at_once),
        sign_ins=Buckets(clock, per_second=limits.sign_ins_per_minute / 60, at_once=limits.sign_ins_per_minute),
        hook_proofs=hooks,
        streams=Streams(store, instance),
    )
