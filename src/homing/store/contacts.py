"""Contacts, and the codes that make somebody one. Codes are kept as hashes and are used once."""

from dataclasses import fields
from datetime import datetime, timedelta

import sqlalchemy as sa

from homing.model.ids import new_id
from homing.model.incoming import GRANTED, Contact, ContactKind, LinkCode, place_of
from homing.store import tables as t
from homing.store.base import Row, Tx, columns, insert_new
from homing.store.people import hash_secret

_heard = t.address.alias("heard")
_contacts = (
    sa.select(
        *[t.contact.c[field.name] for field in fields(Contact) if field.name != "session_key"],
        t.session.c.key.label("session_key"),
    )
    .outerjoin(_heard, sa.and_(_heard.c.address == t.contact.c.address, _heard.c.heard))
    .outerjoin(t.session, sa.and_(t.session.c.id == _heard.c.session_id, t.session.c.user_id == t.contact.c.user_id))
)


def find(tx: Tx, channel: str, kind: ContactKind, place: str) -> Contact | None:
    """Find who has exactly this id in a channel."""
    c = t.contact.c
    rows = tx.rows(_contacts.where(c.channel == channel, c.kind == kind, c.place == place))
    return _contact_of(rows[0]) if rows else None


def get(tx: Tx, contact_id: str, *, user_id: str) -> Contact | None:
    rows = tx.rows(_contacts.where(t.contact.c.id == contact_id, t.contact.c.user_id == user_id))
    return _contact_of(rows[0]) if rows else None


def of_user(tx: Tx, user_id: str) -> list[Contact]:
    """List a user's contacts, the oldest first."""
    return [
        _contact_of(row) for row in tx.rows(_contacts.where(t.contact.c.user_id == user_id).order_by(t.contact.c.n))
    ]


def link(
    tx: Tx,
    *,
    channel: str,
    kind: ContactKind,
    place: str,
    name: str,
    user_id: str,
    address: str,
    linked_by: str | None = None,
) -> None:
    """Make somebody a contact of a user; one who is keeps what was set for them."""
    c, now = t.contact.c, tx.now()
    same = {"name": name, "address": address, "linked_by": linked_by, "blocked": False, "last_at": now}
    new = {"id": new_id("con"), "channel": channel, "kind": kind, "place": place, "user_id": user_id, "created_at": now}
    tx.run(insert_new(tx, t.contact).values({**new, **same}))
    mine = (c.channel == channel, c.kind == kind, c.place == place, c.user_id == user_id)
    tx.run(sa.update(t.contact).where(*mine).values(same))


def change(tx: Tx, contact_id: str, values: dict[str, object]) -> bool:
    return tx.run(sa.update(t.contact).where(t.contact.c.id == contact_id).values(values)) == 1


def mark_blocked(tx: Tx, address: str) -> None:
    """Keep that those at an address do not want to hear from us; their next message takes it back."""
    tx.run(sa.update(t.contact).where(_at(place_of(address))).values(blocked=True))


def is_linked(tx: Tx, user_id: str, address: str) -> bool:
    """Say whether a user has a contact at the place of an address."""
    there = sa.select(t.contact.c.id).where(t.contact.c.user_id == user_id, _at(place_of(address)))
    return bool(tx.rows(there.limit(1)))


def readers_at(tx: Tx, user_id: str, address: str) -> frozenset[str]:
    """Name those of a user who are linked in the direct chat at an address; nobody where a group is linked."""
    c = t.contact.c
    rows = tx.rows(sa.select(c.kind, c.place).where(c.user_id == user_id, _at(place_of(address))))
    people = frozenset(place for kind, place in rows if kind == "person")
    return people if len(people) == len(rows) else frozenset()


def _at(place: str) -> sa.ColumnElement[bool]:
    """Compare by place: a contact may have been linked in a thread."""
    address = t.contact.c.address
    return sa.or_(address == place, address.startswith(f"{place}/", autoescape=True))


def remove(tx: Tx, contact_id: str) -> bool:
    return tx.run(sa.delete(t.contact).where(t.contact.c.id == contact_id)) == 1


def remove_ungranted(tx: Tx) -> set[tuple[str, str]]:
    """Remove contacts that only a grant made, once no grant of their user covers the address: user and address."""
    c, g = t.contact.c, t.grant.c
    covered = sa.exists().where(g.address == c.address, g.user_id == c.user_id)
    gone = sa.delete(t.contact).where(c.linked_by == GRANTED, ~covered).returning(c.user_id, c.address)
    return {(user_id, address) for user_id, address in tx.rows(gone)}


def add_code(
    tx: Tx,
    code: str,
    *,
    user_id: str,
    channel: str,
    session_id: int | None,
    for_group: bool,
    made_from: str | None,
    expires_at: datetime,
) -> None:
    """Keep a code's hash; those whose time is over go."""
    now = tx.now()
    tx.run(sa.delete(t.link_code).where(t.link_code.c.expires_at <= now))
    tx.run(
        sa.insert(t.link_code).values(
            hash=hash_secret(code),
            user_id=user_id,
            channel=channel,
            session_id=session_id,
            for_group=for_group,
            made_from=made_from,
            created_at=now,
            expires_at=expires_at,
        )
    )


def open_codes(tx: Tx, user_id: str) -> int:
    """Count the codes of a user that can still be used."""
    c = t.link_code.c
    living = sa.select(sa.func.count()).where(c.user_id == user_id, c.expires_at > tx.now())
    return int(tx.rows(living)[0][0])


def awaits_link(tx: Tx, channel: str) -> bool:
    """Say whether any code of a channel can still be used."""
    c = t.link_code.c
    return bool(tx.rows(sa.select(c.hash).where(c.channel == channel, c.expires_at > tx.now()).limit(1)))


def look_up_code(tx: Tx, code: str, channel: str) -> LinkCode | None:
    """Read what a code allows, if it can still be used in this channel. A token that ended ends its codes."""
    c = t.link_code.c
    made = t.token.c
    alive = sa.exists().where(
        made.id == c.made_from,
        made.revoked_at.is_(None),
        sa.or_(made.expires_at.is_(None), made.expires_at > tx.now()),
    )
    rows = tx.rows(
        sa.select(*[c[field.name] for field in fields(LinkCode)]).where(
            c.hash == hash_secret(code),
            c.channel == channel,
            c.expires_at > tx.now(),
            sa.or_(c.made_from.is_(None), alive),
        )
    )
    return LinkCode(**columns(rows[0])) if rows else None


def spend_code(tx: Tx, code: str) -> bool:
    """Use a code up; False when somebody was faster."""
    return tx.run(sa.delete(t.link_code).where(t.link_code.c.hash == hash_secret(code))) == 1


def wrong_codes(tx: Tx, channel: str, sender: str, within: timedelta) -> tuple[int, int]:
    """Count the wrong codes of late: of one sender, and of all in the channel."""
    c = t.link_try.c
    rows = tx.rows(sa.select(c.sender, c.tries).where(c.channel == channel, c.since > tx.now() - within))
    tries = {name: int(count) for name, count in rows}
    return tries.get(sender, 0), sum(tries.values())


def count_wrong_code(tx: Tx, channel: str, sender: str, within: timedelta) -> None:
    c, now = t.link_try.c, tx.now()
    tx.run(sa.delete(t.link_try).where(c.since <= now - within))
    tx.run(insert_new(tx, t.link_try).values(channel=channel, sender=sender, tries=0, since=now))
    tx.run(sa.update(t.link_try).where(c.channel == channel, c.sender == sender).values(tries=c.tries + 1))


def _contact_of(row: Row) -> Contact:
    return Contact(**columns(row))
