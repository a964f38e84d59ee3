"""``treadle convert``: configuration of YARN, YuniKorn, Kueue and Volcano as our objects."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import yaml
from cyclopts import Parameter

from treadle.api.objects import InvalidObject
from treadle.cli.yaml_text import stream
from treadle.convert import lenient as lenient_conversion
from treadle.convert import older
from treadle.convert.allocations import read
from treadle.convert.capacity_file import PREFIX, CapacityFileError
from treadle.convert.capacity_objects import Sources
from treadle.convert.capacity_objects import convert as convert_capacity
from treadle.convert.errors import AllocationError, MappingError
from treadle.convert.labels import LabelsUnreadable
from treadle.convert.labels import read as read_labels
from treadle.convert.mapping import from_json
from treadle.convert.names import NameRefused
from treadle.convert.objects import Converted, properties, properties_of
from treadle.convert.objects import convert as convert_fair
from treadle.convert.older import NEWEST, Version
from treadle.convert.peer_files import READ, is_of_peer
from treadle.convert.peer_files import convert as convert_peer
from treadle.convert.profiles import ProfilesRefused
from treadle.convert.profiles import read as read_profiles
from treadle.convert.to_capacity import to_capacity
from treadle.convert.xml import Element, is_xml, parse
from treadle.runtime.policies import PolicyUnusable, load_policies

REFUSED = (AllocationError, CapacityFileError, MappingError, NameRefused, LabelsUnreadable, ProfilesRefused, InvalidObject)


class _Refused(Exception):
    """What ends the command: which file, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class _Options:
    file: Path
    site: Path | None
    rules: Path | None
    labels: Path | None
    to: str | None
    percentages: bool
    hadoop: Version = NEWEST
    lenient: bool = False
    profiles: Path | None = None


def convert(
    file: Path,
    yarn_site: Path | None = None,
    /,
    *,
    site: Annotated[Path | None, Parameter(name="--yarn-site")] = None,
    mapping_rules: Path | None = None,
    node_labels: Path | None = None,
    resource_profiles: Path | None = None,
    to: Literal["capacity"] | None = None,
    percentages: Annotated[bool, Parameter(negative="")] = False,
    hadoop: Version = NEWEST,
    lenient: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Print Scheduler and Queue objects for the configuration of YARN, YuniKorn, Kueue or Volcano, and, as comments, what has no counterpart.

    What kind of file it is shows in its content: a FairScheduler's allocation file gives objects of the discipline Fair,
    properties of the CapacityScheduler those of the discipline Capacity. Other schedulers' give objects of the discipline Fair. A file that Hadoop would refuse is refused with the line
    or the property, and nothing is printed.

    Parameters
    ----------
    file:
        fair-scheduler.xml or capacity-scheduler.xml; YuniKorn's queues.yaml (also in a ConfigMap or values of its chart), or objects of Kueue or Volcano; with --to capacity also our own objects, as YAML.
    yarn_site:
        The yarn-site.xml beside it, for cluster-wide settings; or --yarn-site.
    site:
        The yarn-site.xml, as an option.
    mapping_rules:
        The JSON file that mapping-rule-json-file names.
    node_labels:
        A file with what 'yarn cluster --list-node-labels' prints, or gpu(exclusive=true),fast(exclusive=false).
    resource_profiles:
        The JSON file that resource-profiles.source-file names.
    to:
        With capacity, what is of the FairScheduler gets capacity blocks beside its fair ones, as Hadoop's fs2cs makes them.
    percentages:
        With --to capacity: percentages that sum to 100 instead of weights, as fs2cs --percentage.
    hadoop:
        The Hadoop that the file was written for: what older ones understood otherwise is converted as they did.
    lenient:
        Leave out what Hadoop would refuse, with a comment for each part, and convert the rest.
    """
    try:
        load_policies()
        options = _Options(
            file, site or yarn_site, mapping_rules, node_labels, to, percentages, hadoop, lenient, resource_profiles
        )
        with _uncollected():
            converted = _with_profiles(_converted(options), options.profiles)
            text = stream(converted.objects)
    except (PolicyUnusable, _Refused) as error:
        print(error, file=sys.stderr)
        raise SystemExit(1) from None
    print(text, end="")
    for note in converted.notes:
        print(f"# {note}")


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage meanwhile: of thousands of queues millions of things are made that all stay, and to look among them took a third of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _converted(options: _Options) -> Converted:
    """Convert a file by what is in it."""
    if options.percentages and options.to is None:
        raise _Refused("--percentages goes with --to capacity")
    with _blaming(options.file):
        text = options.file.read_bytes()
        if not is_xml(text):
            return _objects(text, options)
        document = parse(text)
        kind = document.tag
        if kind == "configuration":
            return _capacity(properties_of(document), options)
        if kind != "allocations":
            raise ValueError(f"the document element is {kind!r}; allowed are 'configuration' and 'allocations'")
        if options.rules is not None or options.labels is not None:
            raise ValueError(
                "an allocation file has rules of its own, and no node labels; --mapping-rules and --node-labels go with capacity-scheduler.xml"
            )
        fair = _fair(document, options)
        if options.to is None:
            return fair
        capacity = to_capacity(fair.objects, by_percentage=options.percentages)
        return Converted(capacity.objects, fair.notes + capacity.notes)


def _fair(document: Element, options: _Options) -> Converted:
    meant = older.fair(document, options.hadoop)
    site: dict[str, str] = {}
    if options.site is not None:
        with _blaming(options.site):
            site = properties(options.site.read_bytes())

    def whole(found: Element) -> Converted:
        allocations = read(found)
        with _blaming(options.site or options.file):
            return convert_fair(allocations, site)

    fair = lenient_conversion.fair(document, whole) if options.lenient else whole(document)
    return Converted(fair.objects, [*meant, *fair.notes])


def _with_profiles(converted: Converted, file: Path | None) -> Converted:
    """Give the Scheduler the resource profiles of a file."""
    if file is None:
        return converted
    with _blaming(file):
        profiles, notes = read_profiles(file.read_text())
        scheduler = next((one for one in converted.objects if one["kind"] == "Scheduler"), None)
        if scheduler is None:
            raise ValueError("there is no Scheduler among the objects to have the profiles")
        scheduler.setdefault("spec", {})["resourceProfiles"] = profiles
    return Converted(converted.objects, [*converted.notes, *notes])


def _objects(text: bytes, options: _Options) -> Converted:
    if is_of_peer(text):
        return _of_peer(text, options)
    if options.to is None:
        raise ValueError(
            f"this is neither XML nor of another scheduler ({READ}); our own objects are converted with --to capacity"
        )
    if options.site is not None or options.rules is not None or options.labels is not None:
        raise ValueError("our own objects need no further file; --yarn-site, --mapping-rules and --node-labels go with XML")
    try:
        found = [one for one in yaml.safe_load_all(text) if one is not None]
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from None
    if not all(isinstance(one, dict) for one in found):
        raise ValueError("not a list of objects")
    return to_capacity(found, by_percentage=options.percentages)


def _of_peer(text: bytes, options: _Options) -> Converted:
    if options.site is not None or options.rules is not None or options.labels is not None:
        raise ValueError("--yarn-site, --mapping-rules and --node-labels go with Hadoop's files; this is of another scheduler")
    found = convert_peer(text)
    if options.to is None:
        return found
    capacity = to_capacity(found.objects, by_percentage=options.percentages)
    return Converted(capacity.objects, found.notes + capacity.notes)


def _capacity(values: dict[str, str], options: _Options) -> Converted:
    if not any(name.startswith(PREFIX) for name in values):
        raise ValueError(f"no property begins with {PREFIX}; a FairScheduler's yarn-site.xml goes beside its allocation file")
    if options.to is not None:
        raise ValueError("--to capacity is for an allocation file or our own objects; this is of the CapacityScheduler already")
    site = rules = labels = None
    if options.site is not None:
        with _blaming(options.site):
            site = properties(options.site.read_bytes())
    if options.rules is not None:
        with _blaming(options.rules):
            rules = options.rules.read_text()
            from_json(rules)
    if options.labels is not None:
        with _blaming(options.labels):
            labels = options.labels.read_text()
            read_labels(labels)
    meant = older.capacity(values, options.hadoop)

    def whole(found: dict[str, str]) -> Converted:
        return convert_capacity(Sources(found, site, rules, labels))

    capacity = lenient_conversion.capacity(values, whole) if options.lenient else whole(values)
    return Converted(capacity.objects, [*meant, *capacity.notes])


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Say of which file an error is."""
    try:
        yield
    except (*REFUSED, OSError, ValueError) as error:
        raise _Refused(f"{path}: {error}") from None
