"""Every door that speaks HTTP in one app: the front door, and beside it the MCP door at /mcp."""

from functools import partial

from fastapi import FastAPI, Request
from starlette.routing import Route

from homing.mcp.http import make_mcp_app
from homing.model.people import Caller
from homing.web.answering import let_in
from homing.web.app import make_app
from homing.web.door import FrontDoor
from homing.web.hosts import check_origin
from homing.web.waiting import closed
from homing.wiring import Homing


def make_doors(homing: Homing) -> FastAPI:
    """Make the app that a server runs. Both doors ask for the same proof and count in the same buckets."""
    app = make_app(store=homing.store, house=homing.house, clock=homing.clock)
    door: FrontDoor = app.state.door

    async def admit(request: Request) -> Caller:
        check_origin(request, homing.settings)
        return await let_in(door, request)

    mcp = make_mcp_app(store=homing.store, house=homing.house, admit=admit, closed=partial(closed, door))
    app.router.routes.append(Route("/mcp", endpoint=mcp, include_in_schema=False))
    return app
