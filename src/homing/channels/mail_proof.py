"""Whose mail it is. `From:` proves nothing: a mail is a person's if it carries the token of a mail that we sent them,
or if our own server says that DMARC passed for their domain (rule 53). Pure.
"""

import hmac
import re
from base64 import b32encode
from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_MAC_BYTES = 10
_TOKEN = re.compile(r"([0-9]{1,18})\.([a-z2-7]{16})")
_DMARC = re.compile(r"\s*dmarc\s*(?:/\s*[0-9]+\s*)?=\s*([a-z]+)(?![\w-])(.*)", re.IGNORECASE | re.DOTALL)
_FROM = re.compile(r"(?<!\S)header\.from\s*=\s*(\S+)", re.IGNORECASE)


def spell_mailbox(address: str) -> str:
    """Spell a mail address in the one way in which it is compared. Other letters than ASCII's fold unexpectedly."""
    return address.translate(_LOWER)


def reply_address(own: str, key: bytes, channel: str, session_id: int, person: str) -> str:
    """Give the address that replies of one person in one conversation go to: `local+SESSION.MAC@domain`."""
    local, _, domain = own.rpartition("@")
    return f"{local}+{session_id}.{_mac(key, channel, session_id, person)}@{domain}"


def has_our_token(addresses: Sequence[str], *, own: str, key: bytes, channel: str, person: str) -> bool:
    """Say whether a mail went to an address that only the reader of our mail to this person can know."""
    local, _, domain = spell_mailbox(own).rpartition("@")
    return any(_is_token(spell_mailbox(one), f"{local}+", f"@{domain}", key, channel, person) for one in addresses)


def is_own_address(address: str, own: str) -> bool:
    """Say whether an address is ours, with or without a token."""
    local, _, domain = spell_mailbox(own).rpartition("@")
    name, _, where = spell_mailbox(address).rpartition("@")
    return where == domain and (name == local or name.startswith(f"{local}+"))


def passes_dmarc(headers: Sequence[str], *, authserv_id: str, domain: str) -> bool:
    """Read the verdict of our own server in the Authentication-Results of a mail.

    Those of other servers count for nothing. Two verdicts under our server's name do not count either: it writes one,
    so somebody else wrote the other.
    """
    verdicts = _verdicts(headers, authserv_id)
    if len(verdicts) != 1:
        return False
    [(result, domains)] = verdicts
    return result == "pass" and len(domains) == 1 and _same_domain(domains[0], domain)


def fails_dmarc(headers: Sequence[str], *, authserv_id: str, domain: str) -> bool:
    """Say whether our own server found that somebody else wrote in this domain's name."""
    return any(
        result == "fail" and (not domains or any(_same_domain(one, domain) for one in domains))
        for result, domains in _verdicts(headers, authserv_id)
    )


def _verdicts(headers: Sequence[str], authserv_id: str) -> list[tuple[str, list[str]]]:
    """List each verdict under our server's name with its domains. A header that nobody can read is one, too."""
    verdicts: list[tuple[str, list[str]]] = []
    for header in headers:
        statements = _statements(header)
        if statements is None:
            if spell_mailbox(header.strip()).startswith(spell_mailbox(authserv_id)):
                verdicts.append(("unreadable", []))
            continue
        named = statements[0].split()
        if not named or spell_mailbox(named[0]) != spell_mailbox(authserv_id):
            continue
        found = [match for match in map(_DMARC.fullmatch, statements[1:]) if match]
        verdicts += [(match[1].lower(), _FROM.findall(match[2])) for match in found]
    return verdicts


def _mac(key: bytes, channel: str, session_id: int, person: str) -> str:
    said = "\n".join(("homing reply 1", channel, str(session_id), spell_mailbox(person)))
    return b32encode(hmac.digest(key, said.encode(), "sha256")[:_MAC_BYTES]).decode().lower()


def _is_token(address: str, before: str, after: str, key: bytes, channel: str, person: str) -> bool:
    if not address.startswith(before) or not address.endswith(after):
        return False
    found = _TOKEN.fullmatch(address.removeprefix(before).removesuffix(after))
    return found is not None and hmac.compare_digest(found[2], _mac(key, channel, int(found[1]), person))


def _statements(header: str) -> list[str] | None:
    """Cut a header at its semicolons, without comments; a quoted text becomes `_`, since it may hold anything.

    None for one that nobody wrote so: an open quote or bracket may hide what follows.
    """
    kept: list[str] = []
    depth, quoted, escaped = 0, False, False
    for char in header:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif quoted:
            quoted = char != '"'
        elif depth:
            depth += (char == "(") - (char == ")")
        elif char == '"':
            quoted = True
            kept.append("_")
        elif char == "(":
            depth = 1
            kept.append(" ")
        elif char == ")":
            return None
        else:
            kept.append(char)
    return None if depth or quoted or escaped else "".join(kept).split(";")


def _same_domain(one: str, other: str) -> bool:
    return _ascii_domain(one) == _ascii_domain(other)


def _ascii_domain(domain: str) -> str:
    domain = spell_mailbox(domain).rstrip(".")
    try:
        return domain if domain.isascii() else domain.encode("idna").decode()
    except UnicodeError:
        return domain
