"""Certificates for tests."""

from __future__ import annotations

import datetime as dt
import ssl
from collections.abc import Callable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from treadle.admission.certificates import Certificate, make


def made(*hosts: str) -> Certificate:
    return make(hosts or ("127.0.0.1",), dt.datetime.now(dt.UTC), "treadle")


def trusting(pem: bytes) -> ssl.SSLContext:
    """Trust what is in a bundle, and nothing else."""
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found.load_verify_locations(cadata=pem.decode())
    return found


def authority() -> Callable[[str], Certificate]:
    """Return what issues certificates of one authority for a name, of none if that is empty; each has the authority's own behind it."""
    now = dt.datetime.now(dt.UTC)
    issuer = ec.generate_private_key(ec.SECP256R1())
    ca = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])

    def built(subject: str, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType) -> bytes:
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
            .issuer_name(ca)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(extension, critical=True)
            .sign(issuer, hashes.SHA256())
        )
        return made.public_bytes(serialization.Encoding.PEM)

    own = built("authority", issuer, x509.BasicConstraints(ca=True, path_length=0))

    def issued(name: str) -> Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = x509.BasicConstraints(ca=False, path_length=None)
        pem = built("leaf", key, x509.SubjectAlternativeName([x509.DNSName(name)]) if name else leaf)
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return Certificate(pem + own, private, now, now + dt.timedelta(days=1))

    return issued
