"""The dashboards of the chart for Grafana, made with its own library. ``dashboards.py --write`` writes their JSON, ``--check`` names what differs.

Gauges that each instance tells are taken once (``max``), what instances do is summed.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableRefresh, VariableSort

from treadle.metrics.table import TABLE

FOLDER = Path(__file__).resolve().parent / "treadle" / "files" / "dashboards"
SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
JOB = 'job=~"$job"'
RATE = "[$__rate_interval]"
HELP = {one.name: one.help for one in TABLE}


@dataclass(frozen=True, slots=True)
class Graph:
    """A panel: its title, the unit of Grafana, and (query, legend) of its lines. ``number``: only what is now is shown, large.

    ``description`` stands before what the table of metrics says of those that are asked for.
    """

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    number: bool = False
    description: str = ""


def most(name: str, by: str = "", **labels: str) -> str:
    """Return the query of a gauge that each instance tells."""
    return f"max{f' by ({by})' if by else ''} ({name}{_selector(labels)})"


def rate(name: str, by: str = "", **labels: str) -> str:
    """Return the query of how fast a counter grows, over all instances."""
    return f"sum{f' by ({by})' if by else ''} (rate({name}{_selector(labels)}{RATE}))"


def quantiles(name: str, **labels: str) -> tuple[tuple[str, str], ...]:
    """Return the queries of the middle value of a histogram and of two high ones."""
    grown = f"sum by (le) (rate({name}_bucket{_selector(labels)}{RATE}))"
    return tuple((f"histogram_quantile({part}, {grown})", f"{part:.0%}") for part in (0.5, 0.9, 0.99))


def _selector(labels: dict[str, str]) -> str:
    return "{" + ", ".join([JOB, *(f'{name}="{value}"' for name, value in labels.items())]) + "}"


def _of_resources(kind: str, queue: str) -> str:
    return most("treadle_queue_resource", "resource", queue=queue, kind=kind)


def _resources(name: str, by: str, **labels: str) -> tuple[Graph, ...]:
    return tuple(
        Graph(title, unit, ((most(name, by, resource=resource, **labels), f"{{{{{by}}}}}"),))
        for title, unit, resource in (("CPU", "short", "cpu"), ("Memory", "bytes", "memory"), ("Pods", "short", "pods"))
    )


CLUSTER = {
    "Now": (
        Graph("Waiting pods", "short", ((most("treadle_pods", state="waiting"), ""),), number=True),
        Graph("Pods on nodes", "short", ((most("treadle_pods", state="bound"), ""),), number=True),
        Graph("Nodes", "short", ((most("treadle_nodes"), ""),), number=True),
        Graph("Instances that lead", "short", ((f"sum (treadle_leader{{{JOB}}})", ""),), number=True),
    ),
    "All queues together": _resources("treadle_queue_resource", "kind", queue="root"),
    "What waits": (
        Graph("Waiting pods by reason", "short", ((most("treadle_waiting_pods", "reason"), "{{reason}}"),)),
        Graph(
            "Pods that waited, by reason",
            "short",
            ((rate("treadle_waited_seconds_total", "reason"), "{{reason}}"),),
            description="Seconds waited per second: how many pods waited on average.",
        ),
        Graph(
            "Queues with the most waiting pods",
            "short",
            ((f"topk(10, {most('treadle_queue_waiting_pods', 'queue')})", "{{queue}}"),),
        ),
        Graph("Wait until a node is decided", "s", quantiles("treadle_queue_wait_seconds")),
    ),
    "What happens": (
        Graph(
            "Placements",
            "ops",
            ((rate("treadle_decisions_total"), "decided"), (rate("treadle_binds_total", "result"), "{{result}}")),
        ),
        Graph("Preemption", "ops", ((rate("treadle_evictions_total", "result"), "{{result}}"),)),
        Graph("Reservations", "short", ((most("treadle_reservations", "phase"), "{{phase}}"),)),
        Graph("Opportunistic pods", "short", ((most("treadle_opportunistic_pods", "state"), "{{state}}"),)),
    ),
}
QUEUE = {
    "Resources": _resources("treadle_queue_resource", "kind", queue="$queue"),
    "Work": (
        Graph("Applications", "short", ((most("treadle_queue_applications", "state", queue="$queue"), "{{state}}"),)),
        Graph("Waiting pods", "short", ((most("treadle_queue_waiting_pods", queue="$queue"), "waiting"),)),
        Graph(
            "Wait until a node is decided",
            "s",
            quantiles("treadle_queue_wait_seconds", queue="$queue"),
            description="Only queues just below the root have it, with all below them; of more than 50 such queues the further ones together, as the queue (others) of the metric.",
        ),
        Graph("Preempted pods", "ops", ((rate("treadle_queue_preempted_pods_total", queue="$queue"), "preempted"),)),
    ),
    "Everything that it has": (
        *(
            Graph(
                title,
                "percentunit",
                ((f"{_of_resources(kind, '$queue')} / {_of_resources('fair_share', 'root')}", "{{resource}}"),),
                description="A part of all that the cluster has of the resource, so that cores and bytes stand in one picture.",
            )
            for title, kind in (("Used, as a part of the cluster", "used"), ("Pending, as a part of the cluster", "pending"))
        ),
        Graph(
            "In partitions of nodes",
            "short",
            (
                (
                    most("treadle_queue_partition_resource", "partition, resource, kind", queue="$queue"),
                    "{{partition}} {{resource}} {{kind}}",
                ),
            ),
        ),
        Graph(
            "Promised to reservations",
            "short",
            (
                (
                    most("treadle_plan_resource", "partition, resource, kind", queue="$queue"),
                    "{{partition}} {{resource}} {{kind}}",
                ),
            ),
        ),
    ),
}
USER = {
    "One user": (
        Graph("Pods", "short", ((most("treadle_user_pods", "state", user="$user"), "{{state}}"),)),
        Graph("CPU", "short", ((most("treadle_user_resource", user="$user", resource="cpu"), "cpu"),)),
        Graph("Memory", "bytes", ((most("treadle_user_resource", user="$user", resource="memory"), "memory"),)),
    ),
    "All users": (
        Graph("The most CPU", "short", ((f"topk(10, {most('treadle_user_resource', 'user', resource='cpu')})", "{{user}}"),)),
        Graph(
            "The most memory", "bytes", ((f"topk(10, {most('treadle_user_resource', 'user', resource='memory')})", "{{user}}"),)
        ),
        Graph(
            "The most pods on nodes", "short", ((f"topk(10, {most('treadle_user_pods', 'user', state='placed')})", "{{user}}"),)
        ),
        Graph(
            "The most waiting pods", "short", ((f"topk(10, {most('treadle_user_pods', 'user', state='waiting')})", "{{user}}"),)
        ),
    ),
}
HEALTH = {
    "Now": (
        Graph("Leader", "short", ((f"treadle_leader{{{JOB}}}", "{{instance}}"),)),
        Graph("Objects set aside", "short", ((most("treadle_objects_set_aside"), "objects"),)),
        Graph("Errors of the core", "ops", ((rate("treadle_core_errors_total", "during"), "{{during}}"),)),
        Graph("Watches that are silent", "s", ((most("treadle_watch_silent_seconds", "resource"), "{{resource}}"),)),
    ),
    "The engine": (
        Graph("Passes", "ops", ((rate("treadle_passes_total", "instance"), "{{instance}}"),)),
        Graph("Duration of passes", "s", quantiles("treadle_pass_duration_seconds")),
        Graph("Busy", "percentunit", ((rate("treadle_engine_busy_seconds_total", "instance"), "{{instance}}"),)),
        Graph("Events that wait", "short", ((most("treadle_engine_backlog_events", "instance"), "{{instance}}"),)),
    ),
    "Binds": (
        Graph("Binds", "ops", ((rate("treadle_binds_total", "result"), "{{result}}"),)),
        Graph("Duration of binds", "s", quantiles("treadle_bind_duration_seconds")),
        Graph(
            "Binds in flight",
            "short",
            ((most("treadle_binds_in_flight"), "in flight"), (most("treadle_binds_in_flight_limit"), "limit")),
        ),
        Graph(
            "Pods fenced and writes withheld",
            "ops",
            ((rate("treadle_pods_fenced_total"), "fenced"), (rate("treadle_writes_withheld_total"), "withheld")),
        ),
    ),
    "As kube-scheduler tells it": (
        Graph("Pending pods", "short", ((most("scheduler_pending_pods", "queue"), "{{queue}}"),)),
        Graph("Attempts", "ops", ((rate("scheduler_schedule_attempts_total", "result"), "{{result}}"),)),
        Graph("From the first wait to bound", "s", quantiles("scheduler_pod_scheduling_sli_duration_seconds")),
        Graph("From the decision to bound", "s", quantiles("scheduler_scheduling_attempt_duration_seconds")),
        Graph("To decide", "s", quantiles("scheduler_scheduling_algorithm_duration_seconds")),
        Graph("Searches for victims", "ops", ((rate("scheduler_preemption_attempts_total"), "searches"),)),
        Graph("Victims at a time", "short", quantiles("scheduler_preemption_victims")),
    ),
    "The API server": (
        Graph("Requests by answer", "ops", ((rate("treadle_api_requests_total", "code"), "{{code}}"),)),
        Graph("Requests by use", "ops", ((rate("treadle_api_requests_total", "use"), "{{use}}"),)),
        Graph("Time until it answers", "s", quantiles("rest_client_request_duration_seconds")),
        Graph("Lists made again", "ops", ((rate("treadle_watch_relists_total", "resource"), "{{resource}}"),)),
        Graph(
            "Status and events",
            "ops",
            ((rate("treadle_status_writes_total"), "writes"), (rate("treadle_events_recorded_total"), "events")),
        ),
    ),
    "The ports": (
        Graph("Connections", "short", ((most("treadle_http_connections", "instance, door"), "{{instance}} {{door}}"),)),
        Graph("Refused", "ops", ((rate("treadle_http_refused_total", "door, reason"), "{{door}} {{reason}}"),)),
        Graph(
            "Certificates end in",
            "s",
            ((f"treadle_certificate_expiry_timestamp_seconds{{{JOB}}} - time()", "{{instance}} {{door}}"),),
        ),
        Graph("Certificates with a problem", "short", ((most("treadle_certificate_problem", "door"), "{{door}}"),)),
    ),
    "The process": (
        Graph("Memory", "bytes", ((f"process_resident_memory_bytes{{{JOB}}} and on (instance) treadle_leader", "{{instance}}"),)),
        Graph(
            "CPU",
            "short",
            ((f"rate(process_cpu_seconds_total{{{JOB}}}{RATE}) and on (instance) treadle_leader", "{{instance}}"),),
        ),
        Graph("Longest collection of garbage", "s", ((most("treadle_longest_collection_seconds", "instance"), "{{instance}}"),)),
    ),
    "The history and forecasts": (
        Graph("Records of the history", "ops", ((rate("treadle_history_records_total", "result"), "{{result}}"),)),
        Graph("Records that wait", "short", ((most("treadle_history_waiting"), "records"),)),
        Graph("Writes that failed", "ops", ((rate("treadle_history_failures_total"), "failures"),)),
        Graph("Forecasts", "ops", ((rate("treadle_forecasts_total", "result"), "{{result}}"),)),
    ),
}
DASHBOARDS = {
    "cluster": ("Treadle / Cluster", CLUSTER, ""),
    "queue": ("Treadle / Queue", QUEUE, "label_values(treadle_queue_waiting_pods{" + JOB + "}, queue)"),
    "user": ("Treadle / User", USER, "label_values(treadle_user_pods{" + JOB + "}, user)"),
    "health": ("Treadle / Scheduler health", HEALTH, ""),
}
"""The title, the rows, and the query of the values of a variable that has the name of the dashboard; empty: there is none."""


def _described(graph: Graph) -> str:
    """Return what a panel shows, in sentences."""
    asked = {
        name: None for query, _ in graph.queries for name in re.findall(r"\b(?:treadle|scheduler|rest_client|process)_\w+", query)
    }
    shown = dict.fromkeys(help_ for name in asked if (help_ := HELP.get(name) or HELP.get(name.removesuffix("_bucket"))))
    return "\n\n".join((*([graph.description] if graph.description else []), *shown))


def _panel(graph: Graph, width: int) -> timeseries.Panel | stat.Panel:
    panel: timeseries.Panel | stat.Panel = stat.Panel() if graph.number else timeseries.Panel()
    panel.title(graph.title).unit(graph.unit).datasource(SOURCE).height(4 if graph.number else 8).span(width)
    panel.description(_described(graph))
    if isinstance(panel, timeseries.Panel):
        panel.fill_opacity(10).min(0).legend(common.VizLegendOptions().show_legend(True))
    for number, (expression, legend) in enumerate(graph.queries):
        query = prometheus.Dataquery().expr(expression).legend_format(legend or "__auto").ref_id(chr(ord("A") + number))
        panel.with_target(query.datasource(SOURCE).range())
    return panel


def _variable(name: str, label: str, query: str, *, several: bool) -> dashboard.QueryVariable:
    made = dashboard.QueryVariable(name).label(label).datasource(SOURCE).query(query)
    return (
        made.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(several)
        .include_all(several)
    )


def made(name: str) -> str:
    """Return a dashboard as JSON."""
    title, rows, values = DASHBOARDS[name]
    board = dashboard.Dashboard(title).uid(f"treadle-{name}").tags(["treadle"]).refresh("30s").time("now-3h", "now")
    board.timezone("browser").readonly().with_variable(
        dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")
    )
    board.with_variable(_variable("job", "Job", "label_values(treadle_leader, job)", several=True))
    if values:
        board.with_variable(_variable(name, name.capitalize(), values, several=False))
    for row, graphs in rows.items():
        board.with_row(dashboard.Row(row))
        width = 24 // min(len(graphs), 4)
        for graph in graphs:
            board.with_panel(_panel(graph, width))
    said = json.loads(json.dumps(board.build(), cls=JSONEncoder))
    said.pop("style", None)  # which Grafana had in former times
    return json.dumps(_plain(said), indent=2, sort_keys=True) + "\n"


def _plain(value: Any) -> Any:
    """Return a part of a dashboard without what the library writes and Grafana's types do not have: nothings, and of variables their ids, which are zero, and the steps of intervals that they are not."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    extra = {"auto", "auto_count", "auto_min", "id"} if value.get("type") in {"datasource", "query"} else set()
    return {name: _plain(one) for name, one in value.items() if one is not None and name not in extra}


def main(arguments: list[str]) -> int:
    """Write the files or compare them; returns the exit status."""
    if arguments not in (["--write"], ["--check"]):
        print("usage: dashboards.py --write | --check", file=sys.stderr)
        return 2
    wanted = {FOLDER / f"{name}.json": made(name) for name in DASHBOARDS}
    there = {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")} if FOLDER.is_dir() else {}
    stale = sorted(path for path in wanted.keys() | there.keys() if wanted.get(path) != there.get(path))
    if arguments == ["--check"]:
        for path in stale:
            print(f"{path} differs from what charts/dashboards.py makes: run `make dashboards`", file=sys.stderr)
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for path in stale:
        if path in wanted:
            path.write_text(wanted[path], encoding="utf-8")
            print(f"wrote {path}")
        else:
            path.unlink()
            print(f"removed {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
