"""Certificates for servers on this machine: good ones, and each kind of bad one."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

_DAY = datetime.timedelta(days=1)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


class Authority:
    """A certificate authority; with `file`, TLS trusts it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = str(folder / "authority.pem")
        certificate = self._signed(_named("tests"), self._key, None, -1, 1)
        (folder / "authority.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, host: str = "127.0.0.1", *, ends_in_days: int = 1) -> ssl.SSLContext:
        """What a server for this host shows, signed by this authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(_named("server"), key, host, -9, ends_in_days)
        shown = self._folder / "server.pem"
        shown.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + _pem(key))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(shown)
        return context

    def _signed(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        host: str | None,
        begins: int,
        ends: int,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(_named("tests"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + begins * _DAY)
            .not_valid_after(now + ends * _DAY)
            .add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
        )
        if host is not None:
            builder = builder.add_extension(x509.SubjectAlternativeName([_host(host)]), False)
        return builder.sign(self._key, hashes.SHA256())


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
