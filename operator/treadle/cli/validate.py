"""``treadle validate``: what would become of objects in a file, against the live tree, without changing anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from treadle.api.labels import API_VERSION
from treadle.api.objects import NAMESPACED, PLURALS, InvalidObject, parse
from treadle.changes.change import Step, outcome, steps_between
from treadle.changes.documents import document_of
from treadle.changes.execution import Conflict, Executor, Refused, read
from treadle.changes.verdict import appearing
from treadle.cli.asking import API, asked, refuse
from treadle.kube.errors import ApiError
from treadle.kube.transport import Client

APPLY: Final = "application/apply-patch+yaml"
_OF_CLUSTER: Final = ("Queue", "Scheduler")
_DONE: Final = {"Create": "would be made", "Update": "would be changed in {}"}
Json = Mapping[str, Any]


@dataclass(slots=True)
class Verdict:
    """What is said of each object, in the order of the files, and whether anything is wrong."""

    lines: list[str] = field(default_factory=list)
    wrong: int = 0

    def fine(self, what: str, words: str) -> None:
        """Say what would be done to an object."""
        self.lines.append(f"{what}: {words}")

    def refused(self, what: str, words: str) -> None:
        """Say what is wrong."""
        self.wrong += 1
        self.lines.append(f"{what}: REFUSED: {words}")


def validate(
    *files: Path,
    namespace: str = "default",
    scheduler: str = "treadle",
    kubeconfig: Path | None = None,
    context: str | None = None,
) -> None:
    """Say what `kubectl apply` of files would do to Schedulers, Queues, Applications and Reservations, and what would not be in force then, without changing anything.

    Objects are judged by the models, by the API server (a dry run, with your rights), and all Queues and the Scheduler together by a scheduler's own core that is told what there is and then what the files say. Ends with 1 where anything is wrong.

    Parameters
    ----------
    files:
        Files of objects, as YAML or JSON; - is the standard input.
    namespace:
        That of objects that name none.
    scheduler:
        The Scheduler by which queues are judged.
    kubeconfig:
        A kubeconfig file.
    context:
        The context in it; the current one if absent.
    """
    if not files:
        refuse("name a file")
    verdict = Verdict()
    found = [one for file in files for one in _objects(file, verdict)]
    good = [one for one in found if _is_good(one, namespace, verdict)]
    asked(kubeconfig, context, lambda client: _judged(client, good, scheduler, verdict))
    print("\n".join(verdict.lines) or "there is no object in it")
    if verdict.wrong:
        print(f"treadle: {verdict.wrong} refused", file=sys.stderr)
        raise SystemExit(1)


def _objects(file: Path, verdict: Verdict) -> Iterator[dict[str, Any]]:
    try:
        text = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        documents = list(yaml.safe_load_all(text))
    except (OSError, yaml.YAMLError) as error:
        refuse(f"{file}: {error}")
    for number, document in enumerate(documents, 1):
        several = isinstance(document, dict) and str(document.get("kind", "")).endswith("List")
        items = document.get("items") or [] if several else [] if document is None else [document]
        if not isinstance(items, list):
            verdict.refused(f"{file}, document {number}", f"items: has to be a list, not {items!r}")
            continue
        for one in items:
            if not isinstance(one, dict) or not isinstance(one.get("metadata") or {}, dict):
                verdict.refused(f"{file}, document {number}", "is no object")
            elif one.get("apiVersion") != API_VERSION or one.get("kind") not in PLURALS:
                verdict.fine(
                    f"{one.get('kind')} {(one.get('metadata') or {}).get('name')}", f"is not of {API_VERSION}, and not looked at"
                )
            else:
                yield one


def _is_good(one: dict[str, Any], namespace: str, verdict: Verdict) -> bool:
    """Judge an object by its model; it has a namespace then, if its kind has one."""
    meta = one["metadata"] = dict(one.get("metadata") or {})
    if one["kind"] in NAMESPACED:
        meta.setdefault("namespace", namespace)
    try:
        parse(one["kind"], one)
    except InvalidObject as error:
        verdict.refused(_name(one), str(error).removeprefix(f"{one['kind']} {meta.get('name')}: "))
        return False
    return True


def _name(one: Json) -> str:
    meta = one["metadata"]
    where = f"{meta['namespace']}/" if one["kind"] in NAMESPACED and meta.get("namespace") else ""
    return f"{one['kind']} {where}{meta.get('name')}"


async def _judged(client: Client, objects: Sequence[dict[str, Any]], scheduler: str, verdict: Verdict) -> None:
    """Judge objects against what there is. Raises ``KubeError``."""
    there = await read(client, scheduler)
    before = {
        kind: {name: document_of(kind, raw) for (of, name), raw in there.objects.items() if of == kind} for kind in _OF_CLUSTER
    }
    executor, steps = Executor(client, there.objects), list[Step]()
    for one in objects:
        kind, name = one["kind"], one["metadata"]["name"]
        if kind not in _OF_CLUSTER or (kind == "Scheduler" and name != scheduler):
            await _tried(client, one, verdict)
            continue
        same = {name: before[kind][name]} if name in before[kind] else {}
        step = next(steps_between(kind, same, {name: document_of(kind, one)}), None)
        if step is None:
            verdict.fine(_name(one), "stays as it is")
            continue
        try:
            await executor.try_out([step])
        except (Refused, Conflict) as error:
            verdict.refused(_name(one), str(error).removeprefix(f"{step.words}: "))
            continue
        steps.append(step)
        fields = ", ".join(".".join(map(str, edit.path)) for edit in step.edits)
        verdict.fine(_name(one), _DONE[step.operation].format(fields))
    after = {kind: outcome(before[kind], [step for step in steps if step.kind == kind]) for kind in before}
    for sentence in appearing(before, after, scheduler):
        verdict.refused("together", sentence)


async def _tried(client: Client, one: dict[str, Any], verdict: Verdict) -> None:
    """Let the API server judge an object of a namespace, or a Scheduler that is not served."""
    meta = one["metadata"]
    where = f"namespaces/{meta['namespace']}/" if one["kind"] in NAMESPACED else ""
    path = f"{API}/{where}{PLURALS[one['kind']]}/{meta['name']}"
    there = await client.request("GET", path)
    if there.status not in {200, 404}:
        raise there.error()
    params = {"dryRun": "All", "fieldManager": "treadle-validate", "force": "true"}
    body = {name: value for name, value in one.items() if name != "status"}
    answer = await client.request("PATCH", path, body, params=params, content_type=APPLY)
    if answer.status < 400:
        verdict.fine(_name(one), "would be made" if there.status == 404 else "would be applied")
    elif answer.status < 500:
        verdict.refused(_name(one), answer.error().message)
    else:
        raise ApiError(answer.status, "", answer.error().message)
