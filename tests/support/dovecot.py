"""Dovecot on loopback: a real mail server that is read by IMAP and takes mail by LMTP. Debian's `dovecot-imapd` and
`dovecot-lmtpd`.
"""

import grp
import os
import pwd
import shutil
import smtplib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from imap_tools.mailbox import BaseMailBox, MailBoxUnencrypted

from support.ports import free_ports

USER, PASSWORD = "homing", "secret"
PATIENCE = 30.0
_PROGRAM = "/usr/sbin/dovecot"
_NEEDED = [_PROGRAM, "/usr/lib/dovecot/imap", "/usr/lib/dovecot/lmtp"]


@dataclass(frozen=True, kw_only=True)
class Dovecot:
    """One server with one account; every account of this name exists."""

    folder: Path
    imap: int
    imaps: int
    lmtp: int

    @property
    def url(self) -> str:
        return f"imap://{USER}:{PASSWORD}@127.0.0.1:{self.imap}"

    def deliver(self, raw: bytes, *, sender: str = "anna@example.org") -> None:
        """Hand in a mail as another mail server does."""
        with smtplib.LMTP("127.0.0.1", self.lmtp) as lmtp:
            assert lmtp.sendmail(sender, [f"{USER}@example.net"], raw) == {}

    def box(self) -> BaseMailBox:
        """Sign in as another client of the account."""
        return MailBoxUnencrypted("127.0.0.1", self.imap, timeout=PATIENCE).login(USER, PASSWORD)

    def empty(self) -> None:
        """Delete every mail for good."""
        with self.box() as box:
            box.delete([uid for mail in box.fetch(mark_seen=False, headers_only=True) if (uid := mail.uid)])

    def renumber(self, validity: int) -> None:
        """Give the folder another UIDVALIDITY, as a server does that was rebuilt."""
        update = ["mailbox", "update", "-u", USER, "--uid-validity", str(validity), "INBOX"]
        subprocess.run(["doveadm", "-c", self.folder / "conf", *update], check=True, timeout=PATIENCE)


@contextmanager
def dovecot(*, certificate: Path | None = None) -> Iterator[Dovecot]:
    """Run a server until the end of the block. `certificate` holds a key too, and turns encryption on."""
    if not all(Path(one).exists() for one in _NEEDED):
        if os.environ.get("HOMING_CI"):
            pytest.fail("Dovecot is not installed: apt install dovecot-imapd dovecot-lmtpd.")
        pytest.skip("Dovecot is not installed: apt install dovecot-imapd dovecot-lmtpd.")
    # Not pytest's folder: the path of a socket is short. And not root's: Dovecot opens nobody's mail as root.
    folder = Path(tempfile.mkdtemp(prefix="dovecot-"))
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    imap, imaps, lmtp = free_ports(3)
    server = Dovecot(folder=folder, imap=imap, imaps=imaps, lmtp=lmtp)
    (folder / "conf").write_text(_configuration(server, user, certificate))
    if certificate is not None:
        shutil.copy(certificate, folder / "certificate.pem")
    for path in (folder, *folder.iterdir()):
        os.chown(path, user.pw_uid, user.pw_gid)
    as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    process = subprocess.Popen([_PROGRAM, "-F", "-c", folder / "conf"], **as_user)  # type: ignore[call-overload]
    try:
        _wait(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(server: Dovecot, process: "subprocess.Popen[Any]") -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with server.box():
                return
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.05)


def _configuration(server: Dovecot, user: pwd.struct_passwd, certificate: Path | None) -> str:
    group = user.pw_gid
    tls = f"""
ssl = yes
ssl_cert = <{server.folder}/certificate.pem
ssl_key = <{server.folder}/certificate.pem
"""
    return f"""
protocols = imap lmtp
listen = 127.0.0.1
base_dir = {server.folder}/run
state_dir = {server.folder}/state
log_path = {server.folder}/log
instance_name = {server.folder.name}
default_internal_user = {user.pw_name}
default_internal_group = {grp.getgrgid(group).gr_name}
default_login_user = {user.pw_name}
disable_plaintext_auth = no
mail_location = maildir:{server.folder}/mail/%n
mail_max_userip_connections = 100
auth_username_format = %n
passdb {{
  driver = static
  args = password={PASSWORD}
}}
userdb {{
  driver = static
  args = uid={user.pw_uid} gid={group} home={server.folder}/mail/%n
}}
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {server.imap}
  }}
  inet_listener imaps {{
    port = {server.imaps if certificate else 0}
    ssl = yes
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {server.lmtp}
  }}
}}
{tls if certificate else "ssl = no"}
"""
