"""Files of a conversation through the front door: programs read them below /files, and `send_file` sends new ones."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homing.model.people import OWNER
from support.sandboxes import need_bubblewrap
from support.site import OWNER_TOKEN, STRANGER_TOKEN
from support.whole import Whole, open_whole

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
async def whole(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home") as whole:
        whole.model.otherwise("Seen.")
        assert whole.engine.hands
        await whole.engine.hands.opened.wait()
        yield whole


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Whole]:
    """For what does not depend on the database."""
    need_bubblewrap()
    async with open_whole(f"sqlite:///{tmp_path / 'one.db'}", tmp_path / "home") as whole:
        whole.model.otherwise("Seen.")
        assert whole.engine.hands
        await whole.engine.hands.opened.wait()
        yield whole


async def upload(whole: Whole, content: bytes, name: str, token: str = OWNER_TOKEN) -> str:
    headers = {"Authorization": f"Bearer {token}"}
    answer = await whole.http.post("/api/files", files={"file": (name, content)}, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def messages(whole: Whole, key: str, token: str = OWNER_TOKEN) -> list[dict[str, Any]]:
    return (await whole.ask("GET", f"/sessions/{key}/messages", token=token))["items"]


def workspace(whole: Whole) -> Path:
    [folder] = (whole.homing.settings.share / "workspaces").glob(f"main-{OWNER}-*")
    return folder


async def test_programs_read_the_files_of_their_conversation_and_of_no_other(whole: Whole) -> None:
    mine, other = await upload(whole, b"apple,3\n", "prices.csv"), await upload(whole, b"secret", "other.txt")
    theirs = await upload(whole, b"a stranger's", "theirs.txt", token=STRANGER_TOKEN)
    await whole.say("Here.", key="web:one", files=[mine])
    await whole.say("Here.", key="web:two", files=[other])
    await whole.say("Here.", key="web:one", files=[theirs], token=STRANGER_TOKEN)
    told = await whole.call("run_command", {"command": f"cat /files/{mine}/prices.csv; ls /files"}, key="web:one")
    assert f"]\napple,3\n{mine}\n[end of data " in told
    read = await whole.call("read_file", {"path": f"/files/{mine}/prices.csv"}, key="web:one")
    assert "]\napple,3\n\n[end of data " in read
    listed = await whole.call("list_files", {"path": "/files"}, key="web:one")
    assert f"]\n{mine}/prices.csv (8 bytes)\n[end of data " in listed
    for hidden in (other, theirs):
        refused = await whole.call("read_file", {"path": f"/files/{hidden}/other.txt"}, key="web:one")
        assert "does not exist; list_files with /files shows what does." in refused
    assert await whole.call("list_files", {"path": "/files"}, key="web:empty") == "/files is empty."


@pytest.mark.parametrize("path", ["/files/../workspace/x", "/files/{}/../../x", "/files/{}/other", "/files", "/filesx"])
async def test_no_path_leads_out_of_the_files(one: Whole, path: str) -> None:
    mine = await upload(one, b"x", "a.txt")
    await one.say("Here.", key="web:one", files=[mine])
    told = await one.call("read_file", {"path": path.format(mine)}, key="web:one")
    assert "does not exist" in told or "outside the workspace" in told


async def test_a_file_that_is_missing_costs_only_itself(one: Whole) -> None:
    ids = [await upload(one, b"x", "a.txt"), await upload(one, b"y", "b.txt")]
    await one.say("Here.", key="web:one", files=ids)
    [path] = (one.homing.settings.share / "files").rglob(ids[0])
    path.unlink()
    told = await one.call("run_command", {"command": "cat /files/*/*"}, key="web:one")
    assert f"{ids[0]} cannot be read now" in told
    assert "]\ny\n[end of data " in told


async def test_an_agent_sends_a_file_of_its_workspace(whole: Whole) -> None:
    await whole.call("write_file", {"path": "out/report.csv", "text": "a,b\n"}, key="web:chat")
    sent = await whole.call("send_file", {"path": "out/report.csv", "text": "Here it is."}, key="web:chat")
    assert sent.startswith("Sent report.csv (4 bytes) into the conversation as file_")
    found = [message for message in await messages(whole, "web:chat") if message["files"]]
    [message] = found
    assert (message["role"], message["text"], message["kind"]) == ("assistant", "Here it is.", "chat")
    [file] = message["files"]
    assert (file["name"], file["media_type"], file["bytes"]) == ("report.csv", "text/csv", 4)
    headers = {"Authorization": f"Bearer {OWNER_TOKEN}"}
    assert (await whole.http.get(f"/api/files/{file['id']}", headers=headers)).content == b"a,b\n"
    stranger = {"Authorization": f"Bearer {STRANGER_TOKEN}"}
    assert (await whole.http.get(f"/api/files/{file['id']}", headers=stranger)).status_code == 404
    # The next turn has the call in its history, once.
    await whole.say("Thanks.", key="web:chat")
    assert "send_file" in str(whole.model.seen[-1])
    assert "I sent the file" not in str(whole.model.seen[-1])
    # And a program finds it where those of people are.
    told = await whole.call("run_command", {"command": f"cat /files/{file['id']}/report.csv"}, key="web:chat")
    assert "]\na,b\n[end of data " in told


@pytest.mark.parametrize("what", ["link", "folder link", "pipe", "folder", "empty", "missing", "outside", "large"])
async def test_what_cannot_be_sent_is_refused_with_a_sentence(one: Whole, tmp_path: Path, what: str) -> None:
    await one.call("write_file", {"path": "a.txt", "text": "x"})
    secret, folder = tmp_path / "secret.txt", workspace(one)
    secret.write_text("only the host's")
    path = "it"
    match what:
        case "link":
            (folder / "it").symlink_to(secret)
        case "folder link":
            (folder / "it").symlink_to(tmp_path)
            path = "it/secret.txt"
        case "pipe":
            os.mkfifo(folder / "it")
        case "folder":
            (folder / "it").mkdir()
        case "empty":
            (folder / "it").touch()
        case "outside":
            path = str(secret)
        case "large":
            with (folder / "it").open("wb") as file:
                file.truncate((25 << 20) + 1)
        case _:
            pass
    told = await one.call("send_file", {"path": path}, key="web:chat")
    words = {
        "link": "links are not followed",
        "folder link": "links are not followed",
        "pipe": "is not a regular file",
        "folder": "is a folder",
        "empty": "is empty",
        "missing": "does not exist",
        "outside": "is outside the workspace",
        "large": "has more than 25 MB",
    }
    assert words[what] in told
    assert all(not message["files"] for message in await messages(one, "web:chat"))


async def test_while_the_file_store_is_away_the_model_is_told_and_the_turn_goes_on(one: Whole) -> None:
    await one.call("write_file", {"path": "a.txt", "text": "x"})
    folder = one.homing.settings.share / "files"
    if folder.exists():
        folder.rename(folder.with_name("away"))
    folder.write_text("not a folder")
    told = await one.call("send_file", {"path": "a.txt"}, key="web:chat")
    assert told.startswith("The file was not sent: Files cannot be kept or read now")


async def test_an_agent_without_the_tool_is_not_offered_it(one: Whole) -> None:
    one.change_agent(tools={"send_file": "deny", "read_file": "allow"})
    await one.say("hello")
    assert "send_file" not in one.offered()
    one.change_agent(tools=None)
    await one.say("hello")
    assert "send_file" in one.offered()


async def test_without_a_sandbox_there_is_no_send_file(tmp_path: Path) -> None:
    async with open_whole(f"sqlite:///{tmp_path / 'one.db'}", tmp_path / "home", SANDBOX="off") as whole:
        whole.model.otherwise("Seen.")
        await whole.say("hello")
        assert "send_file" not in whole.offered()


async def test_where_each_call_asks_the_file_is_sent_after_a_yes(tmp_path: Path) -> None:
    need_bubblewrap()
    async with open_whole(f"sqlite:///{tmp_path / 'one.db'}", tmp_path / "home", acting=False) as one:
        one.model.otherwise("Seen.")
        await one.call("write_file", {"path": "a.txt", "text": "x"})
        one.change_agent(tools={"send_file": "ask"})
        told = await one.call("send_file", {"path": "a.txt"}, key="web:chat")
        assert told.startswith("Asked (appr_")
        assert all(not message["files"] for message in await messages(one, "web:chat"))
        [approval] = (await one.ask("GET", "/approvals?state=pending"))["items"]
        answer = {"decision": "approve", "digest": approval["digest"]}
        await one.ask("POST", f"/approvals/{approval['id']}", answer)
        while await one.engine.actions.step():
            pass
        sent = [message for message in await messages(one, "web:chat") if message["files"]]
        assert [message["files"][0]["name"] for message in sent] == ["a.txt"]
