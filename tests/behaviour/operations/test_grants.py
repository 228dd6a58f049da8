"""Addresses that an agent may also write to: whose they are, who may grant them, and what taking one back does."""

from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.errors import Forbidden, Invalid, NotFound
from homing.model.people import Caller
from homing.operations import deliveries
from homing.operations.grants import add_grant, list_grants, remove_grant
from homing.operations.sessions import get_session, update_session
from homing.operations.shapes import session_asks
from homing.operations.shapes.base import read
from homing.operations.shapes.people_asks import AddGrant, AddWebhook, GrantRef, ListGrants, NewGrantShape, WebhookRef
from homing.operations.shapes.session_asks import SessionRef, UpdateSession
from homing.operations.webhooks import add_webhook, remove_webhook
from homing.store import tables as t
from support.asking import field_codes, refused, session
from support.worlds import OWNER_CALLER, STRANGER, World

MAIL = "email:anna@example.org"


def grant(world: World, caller: Caller = OWNER_CALLER, **given: Any) -> NewGrantShape:
    return world.ask(add_grant, read(AddGrant, given), caller=caller)


def addresses(world: World) -> list[str]:
    return world.ask(get_session, SessionRef(session_key="web:abc")).addresses


def answer_to(world: World, *wanted: str, caller: Caller = OWNER_CALLER, key: str = "web:abc") -> list[str]:
    return world.ask(update_session, UpdateSession(session_key=key, addresses=list(wanted)), caller=caller).addresses


def test_a_granted_address_may_become_a_sessions_own(world: World) -> None:
    session(world)
    refused(lambda: answer_to(world, "web:abc", MAIL), Invalid)
    made = grant(world.with_settings(smtp_url="smtp://127.0.0.1"), address=MAIL)
    assert made.id.startswith("grt_")
    assert (made.agent_id, made.address, made.warnings) == ("main", MAIL, [])
    assert answer_to(world, "web:abc", MAIL) == ["web:abc", MAIL]
    assert [one.plain() for one in world.ask(list_grants, ListGrants()).items] == [
        made.model_dump(exclude={"warnings"})
    ]


def test_a_grant_without_a_mail_server_says_what_is_missing_and_the_same_one_is_kept_once(world: World) -> None:
    first = grant(world, address=MAIL, agent_id="main")
    assert first.warnings == ["Mail is not set up on this server: set HOMING_SMTP_URL."]
    assert grant(world, address=MAIL).id == first.id
    assert len(world.ask(list_grants, ListGrants()).items) == 1


def test_a_grant_is_one_agents(world: World) -> None:
    session(world)
    grant(world, address=MAIL, agent_id="other")
    assert field_codes(refused(lambda: answer_to(world, MAIL), Invalid)) == {"addresses.0": "out_of_range"}
    assert field_codes(refused(lambda: grant(world, address=MAIL, agent_id="nobody"), Invalid)) == {
        "agent_id": "out_of_range"
    }


def test_only_an_admin_grants_a_mail_address_to_oneself_or_to_another(world: World) -> None:
    session(world, "web:theirs", STRANGER.user_id)
    with pytest.raises(Forbidden, match="Only an admin may grant a mail address"):
        grant(world, STRANGER, address=MAIL)
    with pytest.raises(Forbidden):
        grant(world, STRANGER, address=MAIL, user="default")
    made = grant(world, address=MAIL, user=STRANGER.user_id)
    assert made.user_id == STRANGER.user_id
    assert answer_to(world, MAIL, caller=STRANGER, key="web:theirs") == [MAIL]
    assert world.ask(list_grants, ListGrants()).items == []
    assert [one.id for one in world.ask(list_grants, ListGrants(user=STRANGER.user_id)).items] == [made.id]
    with pytest.raises(Forbidden):
        world.ask(list_grants, ListGrants(user="default"), caller=STRANGER)
    [(action, object_id)] = world.write(lambda tx: tx.rows(sa.select(t.audit.c.action, t.audit.c.object_id)))
    assert (action, object_id) == ("add_grant", made.id)
    with pytest.raises(NotFound):
        grant(world, address=MAIL, user="nobody")


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({}, "address", "address is missing"),
        ({"address": "email:anna"}, "address", "is not a mail address"),
        ({"address": "email:a@b.org,c@d.org"}, "address", "is not a mail address"),
        ({"address": "email:a@b.org\r\nBcc: c@d.org"}, "address", "is not a mail address"),
        ({"address": "slack:C1"}, "address", "Nothing can be sent to slack:C1 from here"),
        ({"address": "web:other"}, "address", "Nothing can be sent to web:other from here"),
        ({"address": "webhook:wh_none"}, "address", "There is no webhook wh_none"),
        ({"address": MAIL, "session_key": "web:other"}, "session_key", "Give only one"),
        (
            {"address": MAIL, "host": "example.org"},
            "host",
            "Give only one: an address, a session_key, a to_agent_id or a host",
        ),
        ({"host": "example.org", "user": "default"}, "user", "for every user of it"),
        ({"host": "https://example.org/x"}, "host", "is not a host"),
        ({"host": "*.org"}, "host", "it would open a whole top-level domain"),
        ({"host": "10.0.0.1"}, "host", "an address needs its port"),
        ({"address": MAIL, "to_agent_id": "other"}, "to_agent_id", "Give only one"),
    ],
)
def test_what_cannot_be_granted_is_refused_with_a_sentence(
    world: World, given: dict[str, Any], field: str, said: str
) -> None:
    error = refused(lambda: grant(world, **given), Invalid)
    assert list(field_codes(error)) == [field]
    assert said in error.detail


def test_another_users_webhook_cannot_be_granted_and_ones_own_survives_its_grant(world: World) -> None:
    session(world)
    mine = world.ask(add_webhook, AddWebhook(url="https://example.com/in")).address
    theirs = world.ask(add_webhook, AddWebhook(url="https://example.com/in"), caller=STRANGER)
    refused(lambda: grant(world, address=theirs.address), Invalid)
    made = grant(world, address=mine)
    answer_to(world, "web:abc", mine)
    world.ask(remove_grant, GrantRef(grant_id=made.id))
    assert addresses(world) == ["web:abc", mine]
    before = world.ask(get_session, SessionRef(session_key="web:abc"))
    world.ask(remove_webhook, WebhookRef(webhook_id=theirs.id), caller=STRANGER)
    assert world.ask(get_session, SessionRef(session_key="web:abc")) == before


def test_a_grant_taken_back_is_no_address_any_more_and_strangers_cannot_take_it(world: World) -> None:
    session(world)
    made = grant(world, address=MAIL)
    answer_to(world, "web:abc", MAIL)
    for caller, grant_id in ((STRANGER, made.id), (OWNER_CALLER, "grt_none")):
        with pytest.raises(NotFound):
            world.ask(remove_grant, GrantRef(grant_id=grant_id), caller=caller)
    world.ask(remove_grant, GrantRef(grant_id=made.id))
    assert addresses(world) == ["web:abc"]
    assert world.ask(list_grants, ListGrants()).items == []
    refused(lambda: answer_to(world, "web:abc", MAIL), Invalid)
    ask = session_asks.TestAddress(session_key="web:abc", address=MAIL)
    with pytest.raises(Invalid):
        world.ask(deliveries.test_address, ask)
