"""Where held replies wait until a test lets them go. Belongs to one event loop."""

import asyncio


class Gates:
    """Named gates stay open once released, so it does not matter who comes first; a gate without a name is one-time."""

    def __init__(self) -> None:
        self._named: dict[str, asyncio.Event] = {}
        self._waiting: set[asyncio.Event] = set()

    def enter(self, hold: bool | str) -> asyncio.Event:
        """Give the gate to wait at; it is open already if nothing is to be held."""
        gate = self._named.setdefault(hold, asyncio.Event()) if isinstance(hold, str) else asyncio.Event()
        if hold is False:
            gate.set()
        else:
            self._waiting.add(gate)
        return gate

    def leave(self, gate: asyncio.Event) -> None:
        """Forget one who waited."""
        self._waiting.discard(gate)

    def release(self, name: str | None = None) -> None:
        """Open the named gate for good, or everything that is held at this moment."""
        if name is not None:
            self._named.setdefault(name, asyncio.Event()).set()
            return
        for gate in self._waiting:
            gate.set()
