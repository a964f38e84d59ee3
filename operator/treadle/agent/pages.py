"""What the agent's port says: the last sample as JSON, and as Prometheus' text. Written by hand, as the libraries for either are larger than the agent."""

from treadle.agent.cgroups import pressures
from treadle.agent.sampler import Sample, Usage

JSON_TYPE = "application/json"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def sample_page(sample: Sample, node: str) -> str:
    """Return a sample as JSON: the node, when, over how long, what all pods use with their pressure, and each pod's cpu and memory by its uid."""
    pods = ",".join(f"{quoted(uid)}:[{_json(usage.cpu)},{_json(usage.memory)}]" for uid, usage in sample.pods.items())
    pressure = ",".join(
        f'"{resource}":[{some:.2f},{full:.2f},{some_total},{full_total}]'
        for resource, (some, full, some_total, full_total) in pressures(sample.all.waits).items()
    )
    return (
        f'{{"node":{quoted(node)},"at":{sample.at:.3f},"seconds":{sample.seconds:.3f},"cpu":{_json(sample.all.cpu)},'
        f'"memory":{_json(sample.all.memory)},"pressure":{{{pressure}}},"pods":{{{pods}}}}}\n'
    )


def metrics_page(sample: Sample | None) -> str:
    """Return the metrics. Without a sample all there is is that there is none, so nobody reads old numbers as new ones.

    The labels of a series are the resource, the kind of waiting, or the uid of the pod; which node it is Prometheus adds when it scrapes.
    """
    lines = [
        *_head("treadle_agent_up", "gauge", "Whether the last sample could be taken."),
        f"treadle_agent_up {int(sample is not None)}",
    ]
    if sample is None:
        return "\n".join(lines) + "\n"
    lines += [
        *_head("treadle_agent_sample_timestamp_seconds", "gauge", "When the last sample was taken."),
        f"treadle_agent_sample_timestamp_seconds {sample.at:.3f}",
        *_series("treadle_agent_pods", "of all pods together", {"": sample.all}),
        *_head("treadle_agent_pods_pressure_seconds_total", "counter", f"{_WAITED} all pods together."),
        *_pressure("treadle_agent_pods_pressure_seconds_total", "", sample.all),
    ]
    lines += _series("treadle_agent_pod", "of a pod", sample.pods)
    lines += _head("treadle_agent_pod_pressure_seconds_total", "counter", f"{_WAITED} a pod.")
    for uid, usage in sample.pods.items():
        lines += _pressure("treadle_agent_pod_pressure_seconds_total", uid, usage)
    return "\n".join(lines) + "\n"


def alone_page(*, alone: bool, evicted: int) -> str:
    """Return the metrics of an agent that may act alone."""
    lines = [
        *_head("treadle_agent_alone", "gauge", "Whether no scheduler has asked for so long that the agent acts alone."),
        f"treadle_agent_alone {int(alone)}",
        *_head("treadle_agent_evicted_total", "counter", "Pods that the agent asked to go."),
        f"treadle_agent_evicted_total {evicted}",
    ]
    return "\n".join(lines) + "\n"


_WAITED = "How long tasks waited for a resource, some of them or all of them at once:"


def _pressure(name: str, uid: str, usage: Usage) -> list[str]:
    whose = f"uid={quoted(uid)}," if uid else ""
    return [
        f'{name}{{{whose}resource="{resource}",kind="{kind}"}} {total / 1e6:.6f}'
        for resource, (_, _, some, full) in pressures(usage.waits).items()
        for kind, total in (("some", some), ("full", full))
    ]


def _series(prefix: str, whose: str, usages: dict[str, Usage]) -> list[str]:
    name = f"{prefix}_cpu_usage_seconds_total"
    lines = _head(name, "counter", f"Processor time {whose}.")
    lines += [f"{name}{_label(uid)} {usage.cpu_total / 1e6:.6f}" for uid, usage in usages.items()]
    name = f"{prefix}_memory_working_set_bytes"
    lines += _head(name, "gauge", f"Memory {whose} that cannot be had back easily.")
    lines += [f"{name}{_label(uid)} {usage.memory}" for uid, usage in usages.items() if usage.memory is not None]
    return lines


def _label(uid: str) -> str:
    return f"{{uid={quoted(uid)}}}" if uid else ""


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _json(value: int | None) -> str:
    return "null" if value is None else str(value)


def quoted(text: str) -> str:
    """Return a text in double quotes, for JSON and for labels alike."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(max(one, " ") for one in text) + '"'
