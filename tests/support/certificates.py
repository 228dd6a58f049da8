"""Certificates for tests."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_KEY = ec.SECP256R1()


def certify(folder: Path, name: str) -> Path:
    """Make a certificate of a host, signed by nobody but itself."""
    key = ec.generate_private_key(_KEY)
    return _write(folder / f"{name}.pem", _certificate(name, key=key, issuer=name, issuer_key=key), key)


@dataclass(frozen=True, kw_only=True)
class Authority:
    """Signs certificates that a program trusts whose SSL_CERT_FILE is `file`."""

    folder: Path
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def found(cls, folder: Path) -> "Authority":
        key = ec.generate_private_key(_KEY)
        made = cls(folder=folder, key=key)
        certificate = _certificate("authority", key=key, issuer="authority", issuer_key=key, is_authority=True)
        made.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return made

    @property
    def file(self) -> Path:
        return self.folder / "authority.pem"

    def certify(self, *names: str) -> Path:
        """Make a certificate, with its key, of a host with these names and addresses."""
        key = ec.generate_private_key(_KEY)
        certificate = _certificate(*names, key=key, issuer="authority", issuer_key=self.key)
        return _write(self.folder / f"{names[0]}.pem", certificate, key)


def _certificate(
    *names: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    is_authority: bool = False,
) -> x509.Certificate:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_named(names[0]))
        .issuer_name(_named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write(file: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Path:
    file.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return file
