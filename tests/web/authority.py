"""A certificate authority of the tests' own, and one server certificate for the names that they use."""

import datetime
import ssl
from collections.abc import Sequence
from functools import cache
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_FROM = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_TO = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)
_AUTHORITY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of the tests")])
_SERVER = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Server of the tests")])


@cache
def _authority_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _builder(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(_AUTHORITY)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_TO)
    )


@cache
def client_context() -> ssl.SSLContext:
    """Return a client's context that trusts this authority alone."""
    key = _authority_key()
    certificate = (
        _builder(_AUTHORITY, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return ssl.create_default_context(cadata=certificate.public_bytes(serialization.Encoding.PEM).decode("ascii"))


def server_context(folder: Path, hosts: Sequence[str]) -> ssl.SSLContext:
    """Return a server's context with a certificate for these names and addresses."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(_SERVER, key)
        .add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
        .sign(_authority_key(), hashes.SHA256())
    )
    pem = folder / "server.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
