"""From the models of our kinds to what the core is told."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from treadle.api import labels
from treadle.api.application import Application
from treadle.api.common import Provisioning
from treadle.api.identity import Source, who
from treadle.api.profiles import NO_PROFILES, Profiles, resolved
from treadle.api.quantities import seconds
from treadle.api.queue import Acl, PriorityAcl, Queue, QueueOpportunistic, QueueReservations
from treadle.api.queue import QueueSpec as QueueSpecModel
from treadle.api.reservation import Reservation
from treadle.api.scheduler import (
    NamespaceLimits,
    NodeWeights,
    ParentRule,
    Scheduler,
    SchedulerFair,
    SchedulerGangs,
    SchedulerPlaceTogether,
)
from treadle.api.scheduler import PlacementRule as Rule
from treadle.controllers import capacity, opportunistic
from treadle.controllers.recurrence import UTC_ZONE, recurring, zone_of
from treadle.core.errors import InvalidSpec
from treadle.core.model import (
    AccessList,
    ApplicationSpec,
    FairSettings,
    GangSettings,
    GangSpec,
    Limit,
    PlacementRule,
    PriorityBound,
    QueueSpec,
    SchedulerSpec,
)
from treadle.core.model.gangs import Provisioning as ProvisioningSpec
from treadle.core.model.reservations import Asked, Interpreter, PlanSpec, ReservationSpec
from treadle.core.model.scheduler import DECLARED, TogetherSettings, Weights
from treadle.core.model.scheduler import NamespaceLimits as NamespaceLimitsSpec
from treadle.core.rules.constraints.parsing import parse_expression
from treadle.core.rules.constraints.processor import POPULAR_TAGS, SERIAL
from treadle.core.rules.fair.policies import policy_named
from treadle.core.rules.placement.rules import analyse
from treadle.core.units.resources import amount


def queue(model: Queue, profiles: Profiles = NO_PROFILES) -> QueueSpec:
    """Translate a queue; its limits are resolved by the core, against the cluster. Raises ``InvalidSpec``."""
    spec = resolved(model.spec, profiles)
    fair = spec.fair
    if spec.reservations is not None:
        _check_takes_reservations(spec)
    return QueueSpec(
        path=model.metadata.name,
        weight=float(fair.weight),
        minimum=_limits(fair.min_resources) or {},
        maximum=_limits(fair.max_resources) or {},
        policy=fair.scheduling_policy,
        running=spec.state == "Running",
        holds_queues=bool(spec.holds_queues),
        max_running=spec.max_running_applications,
        max_master_share=_number(fair.max_am_share),
        max_container=_limits(fair.max_container_allocation) or {},
        max_child=_limits(fair.max_child_resources),
        max_opportunistic=_opportunistic_limits(spec.opportunistic),
        min_share_timeout=_seconds(fair.min_share_preemption_timeout),
        fair_share_timeout=_seconds(fair.fair_share_preemption_timeout),
        fair_share_threshold=_number(fair.fair_share_preemption_threshold),
        preemptable=fair.allow_preemption_from is not False,
        capacity=None
        if spec.capacity is None
        else capacity.queue(model.metadata.name, spec.capacity, running=spec.state == "Running"),
        submit=_acl(spec.submit_acl),
        administer=_acl(spec.administer_acl),
        reserve=_acl(spec.reserve_acl),
        view=_acl(spec.view_acl),
        priorities=_priorities(spec.priority_acl),
        plan=None if spec.reservations is None else plan(spec.reservations),
    )


def _check_takes_reservations(spec: QueueSpecModel) -> None:
    """Refuse what does not go with queues that are made for reservations. Raises ``InvalidSpec``."""
    if spec.fair.scheduling_policy == "fifo":
        raise InvalidSpec(
            "spec.fair.schedulingPolicy: 'fifo' is for leaf queues, and one that takes reservations holds queues; allowed are drf, fair"
        )
    made = spec.capacity
    for field, block in (
        () if made is None else (("autoCreation", made.auto_creation), ("managedChildren", made.managed_children))
    ):
        if block is not None and block.enabled:
            raise InvalidSpec(
                f"spec.capacity.{field}.enabled: no queues are made below one that takes reservations but for these"
            )


_RANGES = {
    "window": ("10m", "720h"),
    "maximum_period": ("10m", "768h"),
    "lead_time": ("0s", "1h"),
    "enforcement_window": ("0s", "768h"),
    "replan_after": ("0s", "24h"),
}
"""Between what times of a plan have to be."""


def plan(said: QueueReservations) -> PlanSpec:
    """Translate how a queue takes reservations; percentages become parts. Raises ``InvalidSpec``."""
    for name, (least, most) in _RANGES.items():
        text = getattr(said, name)
        if text is not None and not seconds(least) <= seconds(text) <= seconds(most):
            field = type(said).model_fields[name].alias
            raise InvalidSpec(f"spec.reservations.{field}: {text!r} is not between {least} and {most}")
    if said.from_history is not None and said.from_history.time_zone:
        zone_of(said.from_history.time_zone, "spec.reservations.fromHistory.timeZone")
    window, period = _seconds(said.window), _seconds(said.maximum_period)
    highest, average = said.instantaneous_max_capacity, said.average_capacity
    given: dict[str, Any] = {
        "agent": said.agent,
        "smoothness": said.smoothness,
        "early": said.favor_early_allocation,
        "policy": said.policy,
        "window": None if window is None else round(window * 1000),
        "at_once": None if highest is None else highest / 100,
        "average": None if average is None else average / 100,
        "move": said.move_on_expiry,
        "lead": None if said.lead_time is None else round(seconds(said.lead_time) * 1000),
        "enforcement": None if said.enforcement_window is None else round(seconds(said.enforcement_window) * 1000),
        "patience": None if said.replan_after is None else round(seconds(said.replan_after) * 1000),
        "cycle": None if period is None else round(period * 1000),
    }
    return PlanSpec(**{name: value for name, value in given.items() if value is not None})


def _opportunistic_limits(seen: QueueOpportunistic | None) -> dict[str, Limit]:
    limits = seen.limits if seen is not None else None
    return {} if limits is None else _limits(limits.model_dump(exclude_none=True)) or {}


_ITERATORS = {"Serial": SERIAL, "PopularTags": POPULAR_TAGS}


def application(model: Application, profiles: Profiles = NO_PROFILES, users: Source = Source.NAMESPACE) -> ApplicationSpec:
    """Translate an application; its id is ``namespace/name``. Where claims are believed its user is the spec's first, and else unsaid where nobody is known. Raises ``InvalidSpec``."""
    identity = f"{model.metadata.namespace}/{model.metadata.name}"
    notes = model.metadata.annotations
    user, groups, _ = who(notes, users)
    if users is Source.CLAIMS and model.spec.user and model.spec.user != user:
        user, groups = model.spec.user, () if user else labels.groups_of(notes)
    spec, made = resolved(model.spec, profiles), model.metadata.creation_timestamp
    return ApplicationSpec(
        identity,
        spec.queue or "",
        spec.priority,
        user,
        groups,
        spec.partition or "",
        lifetime=_seconds(spec.lifetime),
        created=None if made is None else datetime.fromisoformat(made).timestamp(),
        placement=tuple(parse_expression(text) for text in spec.placement_constraints or ()),
        together=_ITERATORS.get(spec.place_together or "", ""),
        gangs=tuple(
            GangSpec(gang.name, gang.min_member, gang.topology_key or "", gang.topology_mode != "Preferred")
            for gang in spec.gangs or ()
        ),
        provisioning=_provisioning(spec.provisioning),
        opportunistic=spec.execution_type == "Opportunistic",
        guaranteed=spec.execution_type == "Guaranteed",
        reservation=f"{model.metadata.namespace}/{spec.reservation}" if spec.reservation else "",
        duration=_seconds(spec.expected_duration) or None,
        deadline=None if spec.deadline is None else _ms(spec.deadline) / 1000,
        uid=model.metadata.uid or "",
    )


def reservation(model: Reservation, profiles: Profiles = NO_PROFILES, users: Source = Source.NAMESPACE) -> ReservationSpec:
    """Translate a reservation; its id is ``namespace/name``. Its user is who is known to have made it, else its namespace. Raises ``InvalidSpec``."""
    spec, meta = resolved(model.spec, profiles), model.metadata
    user, groups, _ = who(meta.annotations, users)
    said, created = spec.recurrence or "", 0 if meta.creation_timestamp is None else _ms(meta.creation_timestamp)
    again = recurring(said, spec.time_zone or UTC_ZONE, max(_ms(spec.arrival), created))
    return ReservationSpec(
        f"{meta.namespace}/{meta.name}",
        meta.generation,
        spec.queue,
        _ms(spec.arrival),
        _ms(spec.deadline),
        tuple(
            Asked(
                tuple((name, amount(name, text)) for name, text in sorted(one.demand.items())),
                one.count,
                one.concurrency,
                round(seconds(one.duration) * 1000),
                one.minimum_concurrency or 0,
                one.partition or "",
            )
            for one in spec.expression.requests
        ),
        Interpreter(spec.expression.interpreter),
        again.period,
        user or meta.namespace or "",
        groups,
        spec.priority,
        created=created,
        uid=meta.uid or "",
        trial=(meta.annotations or {}).get(labels.DRY_RUN) == "true",
        starts=again.starts,
        apart=again.apart,
        applications=tuple(sorted(set(spec.applications or ()))),
        reprovision=bool(spec.reprovision),
    )


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def scheduler(model: Scheduler, aliases: tuple[str, ...]) -> SchedulerSpec:
    """Translate the settings; ``aliases`` are those that no other Scheduler has a better claim to. Raises ``InvalidSpec``."""
    spec = resolved(model.spec, model.spec.resource_profiles or {})
    rules = None
    if spec.placement_rules:
        rules = tuple(_rule(rule) for rule in spec.placement_rules)
        analyse(rules, "spec.placementRules")
    return SchedulerSpec(
        model.metadata.name,
        aliases,
        spec.nodes.scoring,
        spec.discipline,
        _fair(spec.fair or SchedulerFair()),
        capacity.settings(spec.capacity, spec.nodes),
        spec.nodes.partition_label or labels.PARTITION,
        rules,
        capacity.mapping(spec.capacity),
        spec.capacity is not None and spec.capacity.queue_mappings_override is True,
        tuple((one.tag, parse_expression(one.constraint)) for one in spec.placement_constraints or ()),
        _weights(spec.nodes.weights),
        _headroom(spec.nodes.headroom or {}),
        _gangs(spec.gangs),
        _together(spec.place_together),
        {
            name: {resource: amount(resource, text) for resource, text in bundle.items()}
            for name, bundle in (spec.resource_profiles or {}).items()
        },
        dict(spec.device_classes or {}),
        opportunistic.settings(spec.opportunistic),
        spec.backfill or DECLARED,
        _namespace_limits(spec.namespace_limits),
    )


def _namespace_limits(said: NamespaceLimits | None) -> NamespaceLimitsSpec:
    if said is None:
        return NamespaceLimitsSpec()
    return NamespaceLimitsSpec(said.queues, said.waiting_applications, said.waiting_pods)


def _weights(said: NodeWeights | None) -> Weights:
    usual = Weights()
    if said is None:
        return usual

    def weight(own: int | None, default: int) -> int:
        return default if own is None else own

    return Weights(
        taints=weight(said.taint_toleration, usual.taints),
        node_affinity=weight(said.node_affinity, usual.node_affinity),
        spread=weight(said.pod_topology_spread, usual.spread),
        pod_affinity=weight(said.inter_pod_affinity, usual.pod_affinity),
        resources=weight(said.node_resources_fit, usual.resources),
        images=weight(said.image_locality, usual.images),
        required_affinity=weight(said.hard_pod_affinity, usual.required_affinity),
    )


def _headroom(said: Mapping[str, str | int]) -> tuple[tuple[str, Limit], ...]:
    found = tuple((name, Limit.parse(name, text)) for name, text in sorted(said.items()))
    for name, limit in found:
        if limit.percent is not None and limit.percent > 100:
            raise InvalidSpec(f"spec.nodes.headroom[{name}]: {limit.percent:g}% is more than there is; allowed are 0% to 100%")
    return found


def _gangs(gangs: SchedulerGangs | None) -> GangSettings:
    said: dict[str, Any] = (
        {}
        if gangs is None
        else {
            "hold_timeout": _seconds(gangs.hold_timeout),
            "partial_timeout": _seconds(gangs.partial_timeout),
            "provisioning": _provisioning(gangs.provisioning),
        }
    )
    return GangSettings(**{name: value for name, value in said.items() if value is not None})


def _together(said: SchedulerPlaceTogether | None) -> TogetherSettings:
    usual = TogetherSettings()
    if said is None:
        return usual
    limit = _seconds(said.time_limit)
    return TogetherSettings(said.solver == "HiGHS", usual.time_limit if limit is None else limit)


def _provisioning(said: Provisioning | None) -> ProvisioningSpec | None:
    return None if said is None else ProvisioningSpec(said.class_name, tuple(sorted((said.parameters or {}).items())))


def _fair(fair: SchedulerFair) -> FairSettings:
    policy = fair.default_queue_scheduling_policy
    if policy is not None and policy_named(policy).children is None:
        raise InvalidSpec(
            f"spec.fair.defaultQueueSchedulingPolicy: {policy!r} is for leaf queues, and parents would have it too; "
            "allowed are drf, fair"
        )
    said: dict[str, Any] = {
        "preemption": fair.preemption,
        "utilization_threshold": _number(fair.preemption_cluster_utilization_threshold),
        "wait_before_kill": _seconds(fair.wait_time_before_kill),
        "wait_before_next_check": _seconds(fair.wait_time_before_next_starvation_check),
        "delete_blocked_victims": fair.delete_blocked_victims,
        "hold_timeout": _seconds(fair.hold_timeout),
        "master_preemption": fair.am_preemption,
        "master_preemption_of": fair.am_preemption_of,
        "size_based_weight": fair.size_based_weight,
        "reservable_nodes": _number(fair.reservable_nodes),
        "keep_nodes": fair.reservable_nodes is not None and float(fair.reservable_nodes) > 0,
        "node_threshold": _number(fair.locality_threshold_node),
        "rack_threshold": _number(fair.locality_threshold_rack),
        "node_delay": _seconds(fair.locality_delay_node),
        "rack_delay": _seconds(fair.locality_delay_rack),
        "user_max_running": fair.user_max_apps,
        "user_max_running_default": fair.user_max_apps_default,
        "queue_max_running_default": fair.queue_max_apps_default,
        "queue_max_default": _limits(fair.queue_max_resources_default),
        "queue_max_master_share_default": _number(fair.queue_max_am_share_default),
        "default_policy": policy,
        "min_share_timeout": _seconds(fair.default_min_share_preemption_timeout),
        "fair_share_timeout": _seconds(fair.default_fair_share_preemption_timeout),
        "fair_share_threshold": _number(fair.default_fair_share_preemption_threshold),
    }
    return FairSettings(**{name: value for name, value in said.items() if value is not None})


def _rule(rule: Rule | ParentRule) -> PlacementRule:
    parent = rule.parent if isinstance(rule, Rule) else None
    return PlacementRule(rule.rule, rule.create is not False, rule.queue or "", _rule(parent) if parent is not None else None)


def _limits(texts: dict[str, str] | None) -> dict[str, Limit] | None:
    return None if texts is None else {name: Limit.parse(name, text) for name, text in texts.items()}


def _acl(acl: Acl | None) -> AccessList | None:
    if acl is None:
        return None
    accounts = (f"system:serviceaccount:{account.replace('/', ':')}" for account in acl.service_accounts or ())
    return AccessList(frozenset({*(acl.users or ()), *accounts}), frozenset(acl.groups or ()), frozenset(acl.namespaces or ()))


def _priorities(entries: list[PriorityAcl] | None) -> tuple[PriorityBound, ...]:
    return tuple(PriorityBound(_acl(one) or AccessList(), one.max_priority, one.default_priority) for one in entries or ())


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _seconds(text: str | None) -> float | None:
    return None if text is None else seconds(text)
