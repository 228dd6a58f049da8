"""What an agent keeps of its user: remember, recall, forget."""

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from behaviour.tools.chats import Chat, MakeChat
from homing.model.errors import Refused
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.store.steps import Done
from homing.tools.memory import OFFERS, forget, recall, remember
from homing.tools.tool import ToolSpec

Tool = Callable[[Context, Session, Mapping[str, object]], Done]


def use(chat: Chat, tool: Tool, **arguments: object) -> str:
    return chat.world.write(lambda tx: tool(chat.ctx(tx), chat.session, arguments)).text


def test_recall_gives_one_memory_a_line_each_with_its_id(chat: Chat) -> None:
    kept = use(chat, remember, text="The dog's name\nis Rex")
    use(chat, remember, text="The dog likes cheese")
    use(chat, remember, text="The sun is warm")
    memory_id = kept.removeprefix("Remembered: The dog's name is Rex (").removesuffix(")")
    assert memory_id.startswith("mem_")
    _, *lines, _ = use(chat, recall, query="dog").splitlines()
    assert f"- The dog's name is Rex ({memory_id})" in lines
    assert len(lines) == 2
    assert use(chat, recall, query="zebra") == 'No memory fits "zebra". Try other words.'


def test_a_forgotten_fact_is_gone(chat: Chat) -> None:
    memory_id = use(chat, remember, text="The dog's name is Rex").rpartition("(")[2].rstrip(")")
    assert use(chat, forget, memory_id=memory_id) == f"Forgot {memory_id}."
    with pytest.raises(Refused, match=f"There is no memory {memory_id}. Find its id with recall"):
        use(chat, forget, memory_id=memory_id)


def test_nobody_recalls_or_forgets_anothers_memories(chat: Chat, open_chat: MakeChat) -> None:
    memory_id = use(chat, remember, text="The dog's name is Rex").rpartition("(")[2].rstrip(")")
    stranger = open_chat("web:theirs", user_id="stranger")
    assert use(stranger, recall, query="dog").startswith("No memory fits")
    with pytest.raises(Refused, match="There is no memory"):
        use(stranger, forget, memory_id=memory_id)
    assert memory_id in use(chat, recall, query="dog")


def test_text_without_spaces_is_found(chat: Chat) -> None:
    use(chat, remember, text="我喜欢苹果")
    assert "我喜欢苹果" in use(chat, recall, query="苹果")


@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_a_call_without_its_word_is_told_a_correct_one(chat: Chat, offer: ToolSpec) -> None:
    name = next(iter(cast(dict[str, object], offer.parameters["properties"])))
    for arguments in ({}, {name: ""}, {name: 7}):
        with pytest.raises(Refused, match=f'{name} is missing. A correct call: {{"{name}": "'):
            use(chat, offer.function, **arguments)
