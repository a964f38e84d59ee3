"""Expressions about devices: what is understood, what it says, and what is said of those that have no answer."""

from __future__ import annotations

import pytest

from treadle.core.model.devices import DeviceCapacity, DeviceSpec, SelectorProblem
from treadle.kube.device_selectors import selector
from treadle.kube.quantities import exact, text_of

DRIVER = "gpu.example.com"
GPU = DeviceSpec(
    "gpu-0",
    (
        ("model", ("string", "h100")),
        ("index", ("int", 1)),
        ("ecc", ("bool", True)),
        ("driverVersion", ("version", "2.1.0-rc.1+build")),
        ("other.example.com/rack", ("string", "r1")),
    ),
    (("memory", DeviceCapacity(exact("40Gi"))), ("share", DeviceCapacity(exact("500m")))),
)
A, C = f'device.attributes["{DRIVER}"]', f'device.capacity["{DRIVER}"]'

TRUE = [
    f'device.driver == "{DRIVER}"',
    "!device.allowMultipleAllocations",
    f'{A}.model == "h100"',
    f"{A}.ecc",
    f'{A}.model in ["a100", "h100"]',
    f'{A}.model.startsWith("h")',
    f'{A}.model.matches("^h[0-9]+$")',
    f'{A}.model.upperAscii() == "H100"',
    f"{A}.index >= 1 && {A}.index % 2 == 1",
    f'{C}.memory.compareTo(quantity("40Gi")) >= 0',
    f'{C}.memory.isGreaterThan(quantity("20Gi")) && !{C}.memory.isLessThan(quantity("20Gi"))',
    f'{C}.memory == quantity("40960Mi")',
    f'{C}.memory.add(quantity("1Gi")) == quantity("41Gi") && {C}.memory.sub(1).isLessThan(quantity("40Gi"))',
    f"{C}.memory.asInteger() == 42949672960 && {C}.share.asApproximateFloat() == 0.5 && !{C}.share.isInteger()",
    f"{C}.memory.sign() == 1",
    'isQuantity("1.5Gi") && !isQuantity("many")',
    f'{A}.driverVersion.isLessThan(semver("2.1.0")) && {A}.driverVersion.isGreaterThan(semver("2.1.0-alpha"))',
    f"{A}.driverVersion.major() == 2 && {A}.driverVersion.minor() == 1 && {A}.driverVersion.patch() == 0",
    'semver("v1.2", true).compareTo(semver("1.2.0")) == 0 && !isSemver("1.2") && isSemver("1.2", true)',
    f"has({A}.model) && !has({A}.nothing)",
    f'"model" in {A} && !("nothing" in {A})',
    'device.attributes["other.example.com"].rack == "r1"',
    '!("rack" in device.attributes["nowhere.example.com"])',
    '!("nowhere.example.com" in device.attributes) && "other.example.com" in device.attributes',
    "device.attributes[device.driver].index == 1",
    "device.attributes.size() == 2 && device.attributes.all(name, name.endsWith('example.com'))",
    'device.attributes["nowhere"].?rack.orValue("none") == "none"',
    f"{A}.?model.orValue('none') == 'h100' && device.attributes[?'{DRIVER}'].hasValue()",
    f'cel.bind(gpu, {A}, gpu.model == "h100" && gpu.index == 1)',
    f"{A}.exists(name, name == 'model') && {A}.filter(name, name == 'model').size() == 1",
    f'{A}.index == 1 ? {A}.model == "h100" : false',
    'sets.contains([1, 2], [1]) && sets.intersects(["a"], ["a", "b"]) && sets.equivalent([1, 2], [2, 1])',
    '[1, 2].sum() == 3 && [1, 3, 2].max() == 3 && [2, 1].min() == 1 && ["a", "b"].isSorted()',
    '[quantity("1Gi"), quantity("1Gi")].sum() == quantity("2Gi")',
    f'{A}.index == "1" || true',
    "'it is device.attributes' == 'it is device.attributes'",
]
TRUE += [
    'ip("10.0.0.1").family() == 4 && ip("FD00::1").family() == 6 && ip("FD00::1") == ip("fd00:0::1")',
    'isIP("::1") && !isIP("fe80::1%eth0") && !isIP("::ffff:1.2.3.4") && !isIP("1.2.3") && !isIP("01.2.3.4") && !isIP("10.0.0.0/8")',
    'ip.isCanonical("fd00::1") && !ip.isCanonical("FD00::1")',
    'ip("0.0.0.0").isUnspecified() && ip("::").isUnspecified() && !ip("127.0.0.1").isUnspecified()',
    'ip("127.0.0.1").isLoopback() && ip("::1").isLoopback() && !ip("192.168.0.1").isLoopback()',
    'ip("224.0.0.1").isLinkLocalMulticast() && !ip("224.0.1.1").isLinkLocalMulticast() && ip("ff02::1").isLinkLocalMulticast()',
    'ip("169.254.169.254").isLinkLocalUnicast() && ip("fe80::1").isLinkLocalUnicast() && !ip("fd80::1").isLinkLocalUnicast()',
    'ip("192.168.0.1").isGlobalUnicast() && !ip("255.255.255.255").isGlobalUnicast() && !ip("ff00::1").isGlobalUnicast()',
    'cidr("192.168.0.0/16").containsIP("192.168.10.1") && !cidr("192.168.0.0/16").containsIP(ip("10.0.0.1"))',
    'cidr("192.168.0.0/16").containsCIDR("192.168.10.0/24") && !cidr("192.168.10.0/24").containsCIDR(cidr("192.168.0.0/16"))',
    'cidr("192.168.0.0/24").ip().family() == 4 && cidr("::1/128").ip() == ip("::1") && cidr("10.1.2.3/8").ip() == ip("10.1.2.3")',
    'cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8") && cidr("10.1.2.3/8") != cidr("10.0.0.0/8") && cidr("::1/64").prefixLength() == 64',
    'isCIDR("10.0.0.0/8") && !isCIDR("10.0.0.0") && !isCIDR("10.0.0.0/33") && !isCIDR("10.0.0.0/255.0.0.0") && !isCIDR("10.0.0.0/08")',
    '!cidr("10.0.0.0/8").containsIP("::1") && !cidr("10.0.0.0/8").containsCIDR("::/0") && !isCIDR("::ffff:1.2.3.4/128")',
]
FALSE = ['device.driver == "net.example.com"', f"{A}.index > 1", f'{A}.model == 7 || {A}.model == "a100"']
FAILING = {
    f"{A}.nothing == 1": "fails for device gpu-0: NOT_FOUND",
    f'{C}.memory.compareTo(semver("1.0.0")) > 0': "fails for device gpu-0",
    'quantity("many").sign() == 1': "not a quantity",
    'semver("1.2").major() == 1': "not a semantic version",
    f"{A}.index": "of type INT, not bool",
    "[].max() == 1": "empty list",
    "device.driver ==": "is not understood: INVALID_ARGUMENT: ERROR: <input>:1:17: Syntax error",
    'url("https://example.com").getHost() == "x"': "is not understood: INVALID_ARGUMENT: ERROR: <input>:1:4: undeclared reference to 'url'",
    'ip("nowhere").family() == 4': "not an IP address",
    'ip("10.0.0.1").prefixLength() == 8': "a network is needed",
    'cidr("10.0.0.0/8").containsIP("10.0.0.0/8")': "not an IP address",
    'semver("1.0.0").family() == 4': "an IP address is needed",
    '"abc".find("b") == "b"': "undeclared reference to 'find'",
    '!format.dns1123Label().validate("a").hasValue()': "undeclared reference to 'format'",
    "nothing == 1": "undeclared reference to 'nothing'",
}


@pytest.mark.parametrize(("expression", "says"), [*((one, True) for one in TRUE), *((one, False) for one in FALSE)])
def test_an_expression_says_of_a_device(expression: str, says: bool) -> None:
    assert selector(expression).test(DRIVER, GPU) is says


@pytest.mark.parametrize(("expression", "words"), FAILING.items())
def test_an_expression_without_an_answer_says_why(expression: str, words: str) -> None:
    for _ in range(2):
        with pytest.raises(SelectorProblem) as raised:
            selector(expression).test(DRIVER, GPU)
        assert words in str(raised.value)


@pytest.mark.parametrize("attribute", [("version", "one"), ("unknown", "")])
def test_an_attribute_that_has_no_value_fails_every_expression(attribute: tuple[str, str]) -> None:
    odd = DeviceSpec("odd", (("a", attribute),))
    with pytest.raises(SelectorProblem, match="fails for device odd"):
        selector("true").test(DRIVER, odd)


def test_the_same_expression_is_the_same_selector() -> None:
    assert selector("true") == selector("true")
    assert selector("true") != selector("false")


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("1k", 1000), ("1Ki", 1024), ("1.5Gi", 3 << 29), ("2e3", 2000), (5, 5), ("-1", -1)]
)
def test_a_quantity_is_an_exact_number(text: str | int, number: int) -> None:
    assert exact(text) == number
    assert exact(text_of(exact(text))) == number


@pytest.mark.parametrize("text", ["500m", "1u", "3n", "1.25"])
def test_a_quantity_that_is_no_integer_is_a_fraction_and_comes_back_as_it_was(text: str) -> None:
    assert exact(text_of(exact(text))) == exact(text)


@pytest.mark.parametrize("text", ["", "x", "1 Gi", "1e999999", "1" * 100, "0x10", "٣"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        exact(text)
