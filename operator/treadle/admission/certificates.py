"""A certificate of our own for a port.

Each copy makes its own, keeps the key to itself and signs it itself; the API server trusts those whose certificates stand in the caBundle of the webhook.
So there is no Secret, no authority and nothing to rotate by hand.
"""

import datetime as dt
import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple

VALID_FOR = dt.timedelta(days=7)
"""Long enough for an API server that cannot be reached for days, short enough that what is forgotten in a caBundle goes by itself."""
RENEWED_AFTER = VALID_FOR / 2
BEFOREHAND = dt.timedelta(hours=1)
"""How far clocks may be apart."""


class Certificate(NamedTuple):
    """A self-signed certificate as PEM, its key, and when it is to be replaced and ends."""

    pem: bytes
    key: bytes
    renew_at: dt.datetime
    ends_at: dt.datetime


def make(hosts: tuple[str, ...], now: dt.datetime, subject: str = "treadle-webhook") -> Certificate:
    """Return a new certificate for names or addresses of hosts; its own name begins with ``subject``. ``now`` has a time zone."""
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    # A name of its own: OpenSSL looks for who signed by name, and takes the first of several in a bundle.
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{subject}-{serial:x}")])
    ends_at = now + VALID_FOR
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(now - BEFOREHAND)
        .not_valid_after(ends_at)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Certificate(signed.public_bytes(serialization.Encoding.PEM), private, now + RENEWED_AFTER, ends_at)


def load(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Serve with a certificate from now on; connections that are open go on with the one that they have."""
    load_pem(context, certificate.key + certificate.pem)


def load_pem(context: ssl.SSLContext, pem: bytes) -> None:
    """Serve with a key and a certificate from now on. In the thread that shakes hands: a context has the one without the other for a moment.

    Raises ``OSError`` where they do not belong together, ``ValueError`` for a key that needs a password.
    """
    with tempfile.TemporaryDirectory() as folder:  # the standard library reads files only
        path = Path(folder) / "pem"
        path.touch(mode=0o600)
        path.write_bytes(pem)
        context.load_cert_chain(path, password="")  # without one OpenSSL would ask at the terminal


def names(pem: bytes) -> list[str]:
    """Return the names and addresses that a certificate is for; none for what is not one."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return []
    return [*found.get_values_for_type(x509.DNSName), *map(str, found.get_values_for_type(x509.IPAddress))]


def ends(pem: bytes) -> dt.datetime | None:
    """Return when a certificate ends; None for what is not one."""
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(pem).not_valid_after_utc
    except ValueError:
        return None
