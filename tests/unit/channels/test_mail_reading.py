"""Reading mails that were written to cost time."""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from homing.channels.mail_reading import UNREADABLE, MailAccount, own_words, read_body, read_head
from homing.model.files import safe_name
from unit.channels.imap_office import KEY, OWN, mail, to_reply

ACCOUNT = MailAccount(channel="email", own=OWN, key=KEY.encode(), authserv_id="mx.example.net")
SECONDS = 2.0
"""What grows with the length needs milliseconds; what grows with its square needs minutes."""


def within_bounds(read: Callable[[int], object]) -> None:
    """Read longer and longer ones, so that what is too slow is noticed before it takes forever."""
    for length in (2_000, 20_000, 100_000):
        begun = time.process_time()
        read(length)
        assert time.process_time() - begun < SECONDS, length


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        ("From:", "\x0b"),
        ("From: a", " \r\n "),
        ("From: ", 'a "'),
        ("To: ", "a"),
        ("Cc: ", "a "),
        ("Authentication-Results: mx.example.net; dmarc", " "),
        ("Authentication-Results: mx.example.net; ", "dmarc=pass header.from "),
        (f"From: anna@example.org\r\nTo: {to_reply()}\r\nSubject: ", "=?a?q? "),
        (f"From: anna@example.org\r\nTo: {to_reply()}\r\nIn-Reply-To: ", "<a"),
    ],
)
def test_hostile_headers_are_read_in_a_time_that_grows_with_their_length(head: str, piece: str) -> None:
    sender = "" if head.startswith("From") else "From: anna@example.org\r\n"

    def read(length: int) -> None:
        read_head(f"{sender}{head}{piece * (length // len(piece))}\r\n\r\n".encode(), ACCOUNT)

    assert read_head(mail(), ACCOUNT).verdict == "person"
    within_bounds(read)


def nested(depth: int) -> str:
    return "".join(f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n" for n in range(depth))


@pytest.mark.parametrize(
    "body",
    [
        lambda n: "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + "--b\n\n" * n,
        lambda n: nested(250) + "a\n" * (20 * n),
        lambda n: f'Content-Disposition: attachment; filename="{";" * n}\r\n\r\nx',
        lambda n: f"Content-Type: text/plain; {'a;' * n}\r\n\r\nx",
        lambda n: "Content-Type: message/delivery-status\r\n\r\n" + "a: b\n\n" * n,
        lambda n: "X: y\n" * (n * 10) + "\r\nx",
    ],
)  # fmt: skip
def test_a_mail_that_was_built_to_be_slow_is_unreadable_and_soon(
    body: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homing.channels.mail_reading._MOST_SECONDS", 0.5, raising=False)

    def read(length: int) -> None:
        with suppress(*UNREADABLE):
            read_body(body(length).encode())

    within_bounds(read)
    with pytest.raises(UNREADABLE):
        read_body(body(100_000).encode())


@pytest.mark.parametrize("piece", ["a", "\n", "On 1 ", "> \n", "From: a\n", "@", " ", "--\n"])
def test_the_own_words_of_a_hostile_text_are_found_soon(piece: str) -> None:
    within_bounds(lambda length: own_words(piece * (length * 20), OWN))


def test_a_long_name_of_a_file_is_made_safe_soon() -> None:
    within_bounds(lambda length: safe_name("a" + "\u0301\u0316" * length))
    assert safe_name("x" * 100_000 + ".pdf").endswith(".pdf")
