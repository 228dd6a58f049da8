"""Plans about what people said: keep it, find it again in history and memory, forget it."""

import re
from collections.abc import Generator, Iterable

from homing.agent.offline.plans import Plan
from homing.agent.offline.scene import Call, Result, Scene

STATEMENT = re.compile(
    r"(?:i (?:really |also )?(?:like|love|prefer|enjoy|hate|dislike)|my [\w' ]{1,40} (?:is|are)) .+"
    r"|我(?:很|最|也|真的)?(?:喜欢|爱|讨厌|叫|住).+",
    re.IGNORECASE | re.DOTALL,
)
_LIKES = re.compile(
    r"\bi (?:really |also )?(?:like|love|prefer|enjoy) [^.!?\n\"]+|我(?:很|最|也|真的)?(?:喜欢|爱)[^。！？，\n\"]+",
    re.IGNORECASE,
)
_NO_STATEMENT = re.compile(
    r"[?？]\s*\Z|\A(?:what|who|when|where|why|how|do|did|is|are|forget)\b|什么|吗\s*\Z", re.IGNORECASE
)
_WISH = re.compile(r"\A(?:please )?(?:remember|note)(?: that)?\s+|\A请?记住[，:：\s]*", re.IGNORECASE)
_MEMORY_ID = re.compile(r"\bmem_[\w-]+")
_UNCONFIRMED = re.compile(r"\(mem_[\w-]+; unconfirmed")
_MARKS = re.compile(r"[-*•]\s*|\d+[.)]\s+|[\[(]?\bmem_[\w-]+[\])]?:?\s*")


def remember(scene: Scene, text: str) -> Plan:
    """Keep a fact for every conversation to come."""
    if "remember" not in scene.offered:
        yield from ()
        return f'Noted in this conversation: "{text}".'
    [result] = yield [Call(tool="remember", args={"text": text})]
    return f'Noted: "{text}".' if result.ok and not result.asked else result.told


def likes(scene: Scene, query: str) -> Plan:
    """Tell what somebody said they like."""
    recalled = yield from _recall(scene, query)
    sources = [*_statements(scene), *recalled, *scene.instructions.splitlines()]
    found = _distinct(match for text in sources if not _NO_STATEMENT.search(text) for match in _LIKES.findall(text))
    return _told(found) or "You have not told me yet what you like. Try: I like apples"


def recall(scene: Scene, topic: str) -> Plan:
    """Tell what was said about something, here or elsewhere."""
    recalled = yield from _recall(scene, topic)
    found = _distinct([*(text for text in _statements(scene) if _mentions(text, topic)), *recalled])
    return _told(found) or f"Nothing about {topic} is in this conversation or in memory."


def forget(scene: Scene, what: str) -> Plan:
    """Forget a memory, named by its id or by words that only one memory has."""
    ids = _MEMORY_ID.findall(what)
    if not ids:
        [result] = yield [Call(tool="recall", args={"query": what})]
        ids = list(dict.fromkeys(_MEMORY_ID.findall(result.text)))
        if not ids:
            return f"I found no memory about {what}, so I forgot nothing."
        if len(ids) > 1:
            lines = [line for line in result.text.splitlines() if _MEMORY_ID.search(line)]
            return "\n".join(["Several memories fit. Say forget and the id of one:", *lines])
    results = yield [Call(tool="forget", args={"memory_id": memory_id}) for memory_id in ids]
    return "\n".join(result.told for result in results)


def _recall(scene: Scene, query: str) -> Generator[list[Call], list[Result], list[str]]:
    if "recall" not in scene.offered:
        yield from ()
        return []
    [result] = yield [Call(tool="recall", args={"query": query})]
    # A line without an id is the tool speaking, not a memory; an unconfirmed one did not come from a person.
    found = [line for line in result.text.splitlines() if _MEMORY_ID.search(line) and not _UNCONFIRMED.search(line)]
    return [_MARKS.sub("", line).strip() for line in found]


def _statements(scene: Scene) -> list[str]:
    return [_WISH.sub("", text) for text in scene.said if not _NO_STATEMENT.search(text)]


def _mentions(text: str, topic: str) -> bool:
    words = [word.rstrip("s") for word in re.findall(r"\w+", topic.casefold())]
    return any(word and word in text.casefold() for word in words)


def _told(found: list[str]) -> str:
    if not found:
        return ""
    return "you told me:\n" + "\n".join(f'- "{text}"' for text in found)


def _distinct(texts: Iterable[str]) -> list[str]:
    by_sense = {text.strip().rstrip(".!。！").casefold(): text.strip() for text in reversed(list(texts))}
    return list(reversed(by_sense.values()))
