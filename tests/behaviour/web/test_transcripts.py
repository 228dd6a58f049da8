"""Export, pin and archive. In an exported file no message can pretend to be another's."""

from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from homing.model.messages import Kind, NewMessage
from homing.model.people import OWNER
from homing.store import Tx, sessions
from support.site import OWNER_TOKEN, Site
from support.whole import Whole, open_whole

FORGED = """\
Sure.

## Owner, 2026-11-18 08:00:00 UTC
I agree to everything.
</blockquote><h2>Owner</h2><script>alert(1)</script>
![pixel](https://tracker.example/x.png)

```html
<b>kept</b>
```
~~~
<i>open to the end</i>
## still code"""
# What some readers take for code, and others do not.
HIDDEN = (
    "- a\n\n  ```\n- b\n<h2>in a list</h2>\n\n```html\n<b>after it</b>\n```",
    "  ```\ncode\n```\n<script>alert(1)</script>",
    "```\n   ```\n<script>alert(1)</script>",
    "```\n\t```\n![pixel](https://tracker.example/x.png)",
    "  ~~~\n```\n  ~~~\n<b>x</b>",
    "\\<script>alert(1)</script> \\![pixel](https://tracker.example/x.png)",
    "\\\\<b>x</b> \\\\\\<b>y</b>",
    "\\" * 20_000,
)
OPENED = {"Authorization": f"Bearer {OWNER_TOKEN}"}


def fill(tx: Tx, key: str, count: int, kind: Kind = "chat", text: str = "line {}", **more: Any) -> None:
    session = sessions.find(tx, key, user_id=OWNER)
    assert session is not None
    sessions.lock(tx, [session.id])
    common: dict[str, Any] = {"session_id": session.id, "lane_id": session.id, "role": "assistant", "kind": kind} | more
    sessions.append_messages(tx, [NewMessage(**common, text=text.replace("{}", str(n))) for n in range(count)])


async def export(whole: Whole, form: str = "markdown") -> Any:
    return await whole.http.get("/api/sessions/web:chat/export", params={"format": form}, headers=OPENED)


async def test_an_export_says_who_said_what_when_and_nobody_can_forge_it(database: str, tmp_path: Path) -> None:
    async with open_whole(database, tmp_path, SANDBOX="off") as whole:
        whole.model.reply(FORGED)
        await whole.say("Is # this *me*?\r\n\r\n# Heading")
        await whole.ask("PATCH", "/sessions/web:chat", {"title": "A *b*\n# c", "timezone": "Asia/Kolkata"})
        answer = await export(whole)
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        assert answer.headers["content-disposition"].startswith('attachment; filename="A-b-c.md"')
        shown = MarkdownIt("commonmark", {"html": True}).parse(answer.text)
        # Ours are the headings at the outermost level, and no HTML is left that a reader would obey.
        ours = [shown[n + 1].children for n, one in enumerate(shown) if one.type == "heading_open" and one.level == 0]
        texts = ["".join(part.content for part in parts or ()) for parts in ours]
        assert texts[0] == "A *b* # c"
        assert [text.partition(",")[0] for text in texts[1:]] == ["Owner", "Main"]
        assert all(text.endswith("Asia/Kolkata (UTC+05:30)") for text in texts[1:])
        inline = [part for one in shown for part in one.children or ()]
        kinds = {one.type for one in [*shown, *inline]}
        assert not kinds & {"html_block", "html_inline", "image"}
        assert [one.content for one in shown if one.type == "fence"][-2:] == [
            "<b>kept</b>\n",
            "<i>open to the end</i>\n## still code\n",
        ]
        assert sum(one.type == "blockquote_open" and one.level == 0 for one in shown) == 2
        # In JSON it is exact.
        plain = (await export(whole, "json")).json()
        assert [one["text"] for one in plain["messages"]] == ["Is # this *me*?\r\n\r\n# Heading", FORGED]
        assert (plain["title"], plain["timezone"], plain["session_key"]) == ("A *b*\n# c", "Asia/Kolkata", "web:chat")
        items = (await whole.ask("GET", "/sessions/web:chat/messages"))["items"]
        assert plain["messages"] == items


async def test_what_only_looks_like_code_or_is_escaped_already_stays_words(site: Site) -> None:
    key = "web:hidden"
    await site.owner.post("/api/sessions", json={"key": key})
    for text in HIDDEN:
        site.world.write(lambda tx, text=text: fill(tx, key, 1, text=text))
    answer = await site.owner.get(f"/api/sessions/{key}/export")
    shown = MarkdownIt("commonmark", {"html": True}).parse(answer.text)
    inline = [part for one in shown for part in one.children or ()]
    assert not {one.type for one in [*shown, *inline]} & {"html_block", "html_inline", "image"}
    assert sum(one.type == "blockquote_open" and one.level == 0 for one in shown) == len(HIDDEN)


async def test_a_guest_who_is_called_as_the_user_is_does_not_pass_for_them(site: Site) -> None:
    key = "web:group"
    await site.owner.post("/api/sessions", json={"key": key})
    site.world.write(lambda tx: fill(tx, key, 1, role="user", meta={"guest": True, "sender_name": "Owner"}))
    headings = [
        line for line in (await site.owner.get(f"/api/sessions/{key}/export")).text.splitlines() if "##" in line
    ]
    assert [line.partition(",")[0] for line in headings] == ["## Owner \\(guest\\)"]


@pytest.mark.parametrize("count", [0, 1, 200, 401])
async def test_a_long_conversation_is_exported_whole(site: Site, count: int) -> None:
    key = "web:long"
    await site.owner.post("/api/sessions", json={"key": key})
    site.world.write(lambda tx: fill(tx, key, count))
    answer = await site.owner.get(f"/api/sessions/{key}/export?format=json")
    assert [one["text"] for one in answer.json()["messages"]] == [f"line {n}" for n in range(count)]
    markdown = await site.owner.get(f"/api/sessions/{key}/export")
    assert markdown.text.count("\n> line ") == count


async def test_an_export_is_the_owner_s_alone_and_knows_two_formats(site: Site) -> None:
    await site.owner.post("/api/sessions", json={"key": "web:mine"})
    assert (await site.stranger.get("/api/sessions/web:mine/export")).status_code == 404
    assert (await site.nobody.get("/api/sessions/web:mine/export")).status_code == 401
    assert (await site.owner.get("/api/sessions/web:none/export")).status_code == 404
    assert (await site.owner.get("/api/sessions/web:mine/export?format=pdf")).status_code == 422


async def listed(site: Site, **query: Any) -> list[str]:
    answer = await site.owner.get("/api/sessions", params=query)
    return sorted(one["key"] for one in answer.json()["items"])


async def test_an_archived_conversation_leaves_the_list_and_comes_back_when_something_arrives(site: Site) -> None:
    for key in ("web:a", "web:b"):
        await site.owner.post("/api/sessions", json={"key": key, "title": f"Pears {key[-1]}"})
        await site.owner.post(f"/api/sessions/{key}/messages", json={"text": "hi"})
    archived = await site.owner.patch("/api/sessions/web:a", json={"archived": True})
    assert archived.json()["archived"] is True
    assert await listed(site) == ["web:b"]
    assert await listed(site, archived=True) == ["web:a"]
    assert await listed(site, q="pears") == ["web:a", "web:b"]
    assert await listed(site, q="pears", archived=False) == ["web:b"]
    # A quiet status line does not bring it back; anything else does.
    site.world.write(lambda tx: fill(tx, "web:a", 1, kind="status"))
    assert await listed(site) == ["web:b"]
    site.world.write(lambda tx: fill(tx, "web:a", 1))
    assert await listed(site) == ["web:a", "web:b"]


async def test_a_pinned_conversation_stays_where_it_is_and_says_so(site: Site) -> None:
    for key in ("web:a", "web:b"):
        await site.owner.post("/api/sessions", json={"key": key})
    before = (await site.owner.get("/api/sessions/web:a")).json()
    pinned = (await site.owner.patch("/api/sessions/web:a", json={"pinned": True})).json()
    assert (pinned["pinned"], pinned["archived"], pinned["updated_at"]) == (True, False, before["updated_at"])
    assert await listed(site, pinned=True) == ["web:a"]
    assert await listed(site, pinned=False) == ["web:b"]
    assert await listed(site) == ["web:a", "web:b"]
    assert (await site.owner.patch("/api/sessions/web:a", json={"pinned": None})).json()["pinned"] is False
    stale = await site.owner.patch("/api/sessions/web:a", json={"pinned": True, "revision": before["revision"]})
    assert stale.json()["code"] == "stale_revision"
    assert (await site.stranger.patch("/api/sessions/web:a", json={"pinned": True})).status_code == 404
