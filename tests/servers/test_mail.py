"""Mail against aiosmtpd, a mail server that nobody here wrote: sent whole, signed in, and refused in its own words."""

import ssl
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from homing.channels.email import EmailChannel, read_smtp_url
from homing.model.errors import ChannelFailed
from support.certificates import Authority
from support.ports import free_port
from unit.channels.sample_parts import part

# A password without TLS is fine on loopback.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")

LOGIN = LoginPassword(b"homing", b"a long password")


class Mailbox:
    """Takes mail for example.org and nobody else."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []

    async def handle_RCPT(self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]) -> str:  # noqa: N802 - aiosmtpd's name
        if not address.endswith("@example.org"):
            return "550 5.1.1 no such person here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        assert isinstance(envelope.content, bytes)
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 2.0.0 taken"


def check_login(_: SMTP, __: Session, ___: object, mechanism: str, given: object) -> AuthResult:
    return AuthResult(success=given == LOGIN, handled=True)


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
def server(mailbox: Mailbox) -> Iterator[Controller]:
    controller = Controller(
        mailbox,
        hostname="127.0.0.1",
        port=free_port(),
        authenticator=check_login,
        auth_required=True,
        auth_require_tls=False,
    )
    controller.start()
    yield controller
    controller.stop()


def channel_to(server: Controller, login: str = "homing:a%20long%20password") -> EmailChannel:
    return EmailChannel(read_smtp_url(f"smtp://{login}@127.0.0.1:{server.port}?from=homing@example.net"))


async def test_a_real_mail_server_takes_a_message_with_its_headers_as_we_wrote_them(
    server: Controller, mailbox: Mailbox
) -> None:
    text = "=?utf-8?q?Bill=0D=0AReply-To:_a=40evil.io?= Ünïcode ☀\n\nEs ist neun Uhr."
    await channel_to(server).send(part("email:person@example.org", text))
    [mail] = mailbox.mails
    assert mail["To"] == "person@example.org"
    assert mail["Reply-To"] is None
    assert "Es ist neun Uhr." in mail.get_content()
    assert "☀" in mail["Subject"]


async def test_an_unknown_recipient_is_final_and_a_wrong_password_is_not(server: Controller, mailbox: Mailbox) -> None:
    with pytest.raises(ChannelFailed, match="no such person here") as refused:
        await channel_to(server).send(part("email:person@example.net"))
    assert refused.value.permanent
    with pytest.raises(ChannelFailed) as locked:
        await channel_to(server, login="homing:wrong").send(part("email:person@example.org"))
    assert not locked.value.permanent
    assert mailbox.mails == []


async def test_a_mail_server_is_trusted_by_its_certificate_alone(
    mailbox: Mailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority.found(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certify("localhost"))
    server = Controller(mailbox, hostname="127.0.0.1", port=free_port(), ssl_context=context)
    server.start()
    try:
        channel = EmailChannel(read_smtp_url(f"smtps://localhost:{server.port}?from=homing@example.net"))
        with pytest.raises(ChannelFailed, match=r"could not be encrypted: .*SSL_CERT_FILE") as refused:
            await channel.send(part("email:person@example.org"))
        assert (refused.value.permanent, refused.value.unsure, mailbox.mails) == (False, False, [])
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        await channel.send(part("email:person@example.org"))
    finally:
        server.stop()
    assert len(mailbox.mails) == 1
