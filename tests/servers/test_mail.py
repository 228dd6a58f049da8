"""Mail against aiosmtpd, a mail server that nobody here wrote: sent whole, signed in, and refused in its own words."""

from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from homing.channels.email import EmailChannel, read_smtp_url
from homing.model.errors import ChannelFailed
from support.ports import free_port
from unit.channels.letters import letter

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
    await channel_to(server).send(letter("email:person@example.org", text))
    [mail] = mailbox.mails
    assert mail["To"] == "person@example.org"
    assert mail["Reply-To"] is None
    assert "Es ist neun Uhr." in mail.get_content()
    assert "☀" in mail["Subject"]


async def test_an_unknown_recipient_is_final_and_a_wrong_password_is_not(server: Controller, mailbox: Mailbox) -> None:
    with pytest.raises(ChannelFailed, match="no such person here") as refused:
        await channel_to(server).send(letter("email:person@example.net"))
    assert refused.value.permanent
    with pytest.raises(ChannelFailed) as locked:
        await channel_to(server, login="homing:wrong").send(letter("email:person@example.org"))
    assert not locked.value.permanent
    assert mailbox.mails == []
