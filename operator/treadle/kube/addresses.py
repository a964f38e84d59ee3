"""IP addresses and networks as CEL has them in Kubernetes (its libraries ``ip`` and ``cidr``): no zones, and no IPv4 addresses in the form of IPv6."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_address, ip_interface

Address = IPv4Address | IPv6Address
Network = IPv4Interface | IPv6Interface
_BITS = re.compile(r"0|[1-9][0-9]{0,2}")
_BROADCAST = IPv4Address("255.255.255.255")
_LOCAL_MULTICAST = ip_interface("224.0.0.0/24").network


def address(text: str) -> Address:
    """Read an address. Raises ``ValueError``."""
    if "%" in text:
        raise ValueError(f"IP address {text[:64]!r} with zone value is not allowed")
    try:
        found = ip_address(text)
    except ValueError as error:
        raise ValueError(f"not an IP address: {text[:64]!r}") from error
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        raise ValueError(f"IPv4-mapped IPv6 address {text[:64]!r} is not allowed")
    return found


def network(text: str) -> Network:
    """Read a network: an address, which may have bits beyond the prefix, and the length of the prefix. Raises ``ValueError``."""
    start, slash, bits = text.partition("/")
    if not slash or _BITS.fullmatch(bits) is None:
        raise ValueError(f"not a network address: {text[:64]!r}")
    found = address(start)
    if int(bits) > found.max_prefixlen:
        raise ValueError(f"not a network address: {text[:64]!r}")
    return ip_interface(f"{found}/{bits}")


def is_global_unicast(one: Address) -> bool:
    """Whether an address is none of the special ones; private ones count."""
    return not (one.is_unspecified or one.is_loopback or one.is_multicast or one.is_link_local or one == _BROADCAST)


def is_local_multicast(one: Address) -> bool:
    """Whether an address is one for all on a link."""
    if isinstance(one, IPv4Address):
        return one in _LOCAL_MULTICAST
    return one.packed[0] == 0xFF and one.packed[1] & 0x0F == 2


def contains(outer: Network, inner: Network) -> bool:
    """Whether a network has all addresses of another one."""
    return (
        outer.version == inner.version
        and outer.network.prefixlen <= inner.network.prefixlen
        and inner.network.network_address in outer.network
    )
