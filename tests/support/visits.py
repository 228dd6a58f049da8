"""A furnished site, and one good request for every operation: what walks through all addresses walk by."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

from homing.model.people import OWNER
from homing.store import Tx, contacts, dreams, listeners, sessions
from support.asking import add, ask_people_for, session
from support.push import Browser
from support.site import Site, give_token, kill, owe
from support.worlds import World

KEY = "web:abc"


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One request that succeeds when its owner sends it."""

    operation: str
    method: str
    path: str
    status: int = 200
    body: dict[str, Any] | None = None
    query: dict[str, Any] = field(default_factory=dict[str, Any])

    async def pay(self, client: httpx2.AsyncClient) -> httpx2.Response:
        return await client.request(self.method, self.path, json=self.body, params=self.query)


def make_group(world: World) -> str:
    """Let a channel listen, and a group in it be the owner's contact; name the contact."""

    def work(tx: Tx) -> str:
        listeners.claim(tx, "chat", "worker_x", 60)
        where = {"channel": "chat", "place": "chat:-1", "address": "chat:-1"}
        contacts.link(tx, **where, kind="group", name="Us", user_id=OWNER, linked_by="x")
        return contacts.of_user(tx, OWNER)[-1].id

    return world.write(work)


async def visits(site: Site) -> AsyncIterator[Visit]:
    """Give one good request for each operation, each made possible just before it is given."""
    world, owner = site.world, site.owner
    session(world)
    job = add(world, name="fruit watch").id
    yield Visit(operation="get_status", method="GET", path="/api/status")
    yield Visit(operation="get_me", method="GET", path="/api/me")
    yield Visit(operation="update_me", method="PATCH", path="/api/me", body={"timezone": "Europe/Berlin"})
    yield Visit(operation="list_agents", method="GET", path="/api/agents")
    yield Visit(operation="get_agent", method="GET", path="/api/agents/main")
    yield Visit(operation="add_agent", method="POST", path="/api/agents", body={"name": "Helper"}, status=201)
    yield Visit(operation="update_agent", method="PATCH", path="/api/agents/other", body={"name": "Another"})
    yield Visit(operation="remove_agent", method="DELETE", path="/api/agents/other")
    servers, program = "/api/agents/main/mcp-servers", {"name": "clock", "command": "python3"}
    yield Visit(operation="add_mcp_server", method="POST", path=servers, body={**program, "name": "other"}, status=201)
    server = (await owner.post(servers, json=program)).json()
    seen = {"tools_sha256": server["tools_sha256"]}
    yield Visit(operation="list_mcp_servers", method="GET", path=servers)
    yield Visit(operation="update_mcp_server", method="PATCH", path=f"{servers}/clock", body={"policy": "deny"})
    yield Visit(operation="test_mcp_server", method="POST", path=f"{servers}/clock/test")
    yield Visit(operation="accept_mcp_tools", method="POST", path=f"{servers}/clock/accept", body=seen)
    yield Visit(operation="remove_mcp_server", method="DELETE", path=f"{servers}/clock")
    yield Visit(operation="create_token", method="POST", path="/api/tokens", body={"expires": "in 2 days"}, status=201)
    made = (await owner.post("/api/tokens", json={})).json()
    yield Visit(operation="list_tokens", method="GET", path="/api/tokens")
    yield Visit(operation="revoke_token", method="DELETE", path=f"/api/tokens/{made['id']}")
    give_token(world, "default", "admin", "code-1", kind="code")
    yield Visit(operation="sign_in", method="POST", path="/api/auth/sign-in", body={"code": "code-1"})
    yield Visit(operation="sign_out", method="POST", path="/api/auth/sign-out")
    yield Visit(operation="add_session", method="POST", path="/api/sessions", body={"title": "Pears"}, status=201)
    yield Visit(operation="list_sessions", method="GET", path="/api/sessions", query={"q": "abc"})
    yield Visit(operation="get_session", method="GET", path=f"/api/sessions/{KEY}")
    yield Visit(operation="update_session", method="PATCH", path=f"/api/sessions/{KEY}", body={"title": "Fruit"})
    yield Visit(operation="send_message", method="POST", path=f"/api/sessions/{KEY}/messages", body={"text": "hi"},
                status=202)  # fmt: skip
    owe(world, KEY, "hello", [])
    yield Visit(operation="list_messages", method="GET", path=f"/api/sessions/{KEY}/messages", query={"after": 0})
    yield Visit(operation="mark_read", method="POST", path=f"/api/sessions/{KEY}/read", body={"seq": 1})
    yield Visit(operation="branch_session", method="POST", path=f"/api/sessions/{KEY}/branch", body={"seq": 1},
                status=201)  # fmt: skip
    yield Visit(operation="cancel_turn", method="POST", path=f"/api/sessions/{KEY}/cancel", body={}, status=202)
    turn = world.open_turn(KEY)
    yield Visit(operation="list_turns", method="GET", path=f"/api/sessions/{KEY}/turns", query={"limit": 5})
    yield Visit(operation="get_turn", method="GET", path=f"/api/turns/{turn}")
    approval, question = ask_people_for(world, KEY, turn)
    yield Visit(operation="list_approvals", method="GET", path="/api/approvals", query={"state": "pending"})
    yield Visit(operation="get_approval", method="GET", path=f"/api/approvals/{approval.id}")
    yield Visit(operation="list_questions", method="GET", path="/api/questions", query={"session_key": KEY})
    yield Visit(operation="list_inbox", method="GET", path="/api/inbox")
    item = {"kind": "approval", "id": approval.id}
    yield Visit(operation="see_inbox", method="POST", path="/api/inbox/seen", body=item)
    answer = {"decision": "approve", "digest": approval.digest}
    yield Visit(operation="answer_approval", method="POST", path=f"/api/approvals/{approval.id}", body=answer)
    yield Visit(operation="answer_question", method="POST", path=f"/api/questions/{question.id}", body={"option": 1})
    yield Visit(operation="test_address", method="POST", path=f"/api/sessions/{KEY}/test", body={"address": KEY},
                status=202)  # fmt: skip
    yield Visit(operation="add_hook", method="POST", path=f"/api/sessions/{KEY}/hooks", body={"name": "ci"}, status=201)
    hook = (await owner.post(f"/api/sessions/{KEY}/hooks", json={})).json()
    yield Visit(operation="list_hooks", method="GET", path=f"/api/sessions/{KEY}/hooks")
    yield Visit(operation="call_hook", method="POST", path="/api/hooks/" + hook["url"].rpartition("/")[2],
                body={"text": "built"}, status=202)  # fmt: skip
    yield Visit(operation="remove_hook", method="DELETE", path=f"/api/sessions/{KEY}/hooks/{hook['id']}")
    yield Visit(operation="add_webhook", method="POST", path="/api/webhooks", body={"url": "https://example.com/in"},
                status=201)  # fmt: skip
    webhook = (await owner.post("/api/webhooks", json={"url": "https://example.com/two"})).json()
    yield Visit(operation="list_webhooks", method="GET", path="/api/webhooks")
    yield Visit(operation="remove_webhook", method="DELETE", path=f"/api/webhooks/{webhook['id']}")
    yield Visit(operation="add_push", method="POST", path="/api/push", body=Browser().subscription, status=201)
    device = (await owner.post("/api/push", json=Browser("two").subscription)).json()
    yield Visit(operation="list_push", method="GET", path="/api/push")
    yield Visit(operation="remove_push", method="DELETE", path=f"/api/push/{device['id']}")
    group = make_group(world)
    yield Visit(operation="link_channel", method="POST", path="/api/channels/chat/link", body={}, status=201)
    yield Visit(operation="list_channels", method="GET", path="/api/channels")
    yield Visit(operation="list_channel_kinds", method="GET", path="/api/channel-kinds")
    yield Visit(operation="test_channel", method="POST", path="/api/channels/chat/test", body={"address": "chat:7"})
    yield Visit(operation="list_contacts", method="GET", path="/api/contacts")
    yield Visit(operation="update_contact", method="PATCH", path=f"/api/contacts/{group}", body={"wakes": "all"})
    yield Visit(operation="remove_contact", method="DELETE", path=f"/api/contacts/{group}")
    mail = {"agent_id": "main", "address": "email:anna@example.org"}
    yield Visit(operation="add_grant", method="POST", path="/api/grants", body=mail, status=201)
    grant = (await owner.post("/api/grants", json=mail)).json()
    yield Visit(operation="list_grants", method="GET", path="/api/grants")
    yield Visit(operation="remove_grant", method="DELETE", path=f"/api/grants/{grant['id']}")
    yield Visit(operation="list_users", method="GET", path="/api/users")
    plain = {"session_key": KEY, "when": "every 2h", "message": "look"}
    yield Visit(operation="add_job", method="POST", path="/api/jobs", body=plain, status=201)
    yield Visit(operation="list_jobs", method="GET", path="/api/jobs", query={"recent": 5, "sort": "name"})
    yield Visit(operation="get_job", method="GET", path=f"/api/jobs/{job}")
    yield Visit(operation="update_job", method="PATCH", path=f"/api/jobs/{job}", body={"name": "pears"})
    yield Visit(operation="disable_job", method="POST", path=f"/api/jobs/{job}/disable", body={"reason": "rest"})
    yield Visit(operation="enable_job", method="POST", path=f"/api/jobs/{job}/enable")
    yield Visit(operation="skip_job", method="POST", path=f"/api/jobs/{job}/skip", body={"count": 1})
    revision = (await owner.get(f"/api/jobs/{job}")).json()["revision"]
    yield Visit(operation="undo_job", method="POST", path=f"/api/jobs/{job}/undo", body={"revision": revision})
    yield Visit(operation="why_job", method="GET", path=f"/api/jobs/{job}/why")
    yield Visit(operation="run_job", method="POST", path=f"/api/jobs/{job}/run", status=202)
    yield Visit(operation="list_runs", method="GET", path="/api/runs", query={"job_id": job})
    yield Visit(operation="list_runs_of_job", method="GET", path=f"/api/jobs/{job}/runs")
    run = (await owner.get("/api/runs")).json()["items"]
    if not run:
        run = [(await owner.post(f"/api/jobs/{job}/run")).json()]
    yield Visit(operation="get_run", method="GET", path=f"/api/runs/{run[0]['id']}")
    yield Visit(operation="cancel_run", method="POST", path=f"/api/runs/{run[0]['id']}/cancel", status=202)
    yield Visit(operation="list_upcoming", method="GET", path="/api/upcoming")
    yield Visit(operation="preview_schedule", method="POST", path="/api/schedules/preview", body={"when": "every 2h"})
    yield Visit(operation="try_job", method="POST", path=f"/api/jobs/{job}/try", body={"message": "look"}, status=202)
    script = {"script": "print('{}')", "script_language": "python"}
    yield Visit(operation="try_script", method="POST", path="/api/scripts/try", body=script)
    yield Visit(operation="search", method="GET", path="/api/search", query={"q": "hello"})
    yield Visit(operation="get_model", method="GET", path="/api/settings/model")
    yield Visit(operation="list_models", method="GET", path="/api/settings/models")
    yield Visit(operation="get_usage", method="GET", path="/api/usage", query={"by": "agent"})
    yield Visit(operation="list_deliveries", method="GET", path="/api/deliveries", query={"session_key": KEY})
    granted = (await owner.post("/api/grants", json={"address": "email:lost@example.org"})).json()["address"]
    [dead] = owe(world, KEY, "lost", [granted])
    kill(world, dead)
    yield Visit(operation="retry_delivery", method="POST", path=f"/api/deliveries/{dead}/retry", status=202)
    yield Visit(operation="add_memory", method="POST", path="/api/memories", body={"text": "likes apples"}, status=201)
    memory = (await owner.post("/api/memories", json={"text": "likes pears"})).json()
    yield Visit(operation="list_memories", method="GET", path="/api/memories", query={"q": "pears"})
    yield Visit(operation="confirm_memory", method="POST", path=f"/api/memories/{memory['id']}/confirm")
    world.write(lambda tx: _dream(tx, [memory["id"]]))
    yield Visit(operation="undo_dream", method="POST", path="/api/memories/undo", body={"id": "drm_visited"})
    memory = (await owner.post("/api/memories", json={"text": "likes pears"})).json()
    yield Visit(operation="remove_memory", method="DELETE", path=f"/api/memories/{memory['id']}")
    yield Visit(operation="admin_list_jobs", method="GET", path="/api/admin/jobs")
    yield Visit(operation="admin_update_job", method="PATCH", path=f"/api/admin/jobs/{job}", body={"name": "checked"})
    yield Visit(operation="admin_disable_job", method="POST", path=f"/api/admin/jobs/{job}/disable", body={})
    yield Visit(operation="remove_job", method="DELETE", path=f"/api/jobs/{job}")
    yield Visit(operation="delete_session", method="DELETE", path=f"/api/sessions/{KEY}",
                query={"delete_automations": True})  # fmt: skip


def _dream(tx: Tx, added: list[str]) -> None:
    """Write down a memory upkeep that has added these."""
    session = sessions.find(tx, KEY, user_id=OWNER)
    assert session is not None
    dreams.add(tx, "drm_visited", user_id=OWNER, session_id=session.id, seq=None, until_n=0, added=added, before=[])
