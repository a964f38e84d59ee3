"""Certificates for tests."""

from __future__ import annotations

import datetime as dt
import ssl

from treadle.admission.certificates import Certificate, make


def made(*hosts: str) -> Certificate:
    return make(hosts or ("127.0.0.1",), dt.datetime.now(dt.UTC), "treadle")


def trusting(pem: bytes) -> ssl.SSLContext:
    """Trust what is in a bundle, and nothing else."""
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found.load_verify_locations(cadata=pem.decode())
    return found
