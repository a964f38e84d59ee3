"""What keeps an ask back under the capacity discipline beside room and maxima: its user's limit, and one who is first in a full queue.

Whoever comes to the limit is passed over. But who finds a queue at its maximum ends the queue's turn, so that a large ask is not
overtaken for ever by smaller ones (``AbstractLeafQueue.assignContainers``, where it says ``QUEUE_LIMIT``). An ask for more than the maximum as a whole blocks nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.quota import limit_of
from treadle.core.kernel.tree.order import park, suspend, unpark
from treadle.core.model import Wait
from treadle.core.units.resources import format_amount

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.application import Ask
    from treadle.core.kernel.tree.queue import Queue

USER_LIMIT = "UserLimit"


def hold_back_user(state: State, ask: Ask) -> None:
    """Park an ask whose user has come to the limit."""
    leaf = ask.application.chain[0]
    leaf.users_blocked[ask] = None
    state.contended.setdefault(leaf, None)
    park(state, ask, Wait(USER_LIMIT, leaf.path, ""))


def end_turn(queue: Queue, ask: Ask) -> None:
    """Let nobody in a full queue overtake the ask that found it full."""
    if queue.full_for is None and all(value <= queue.maximum[at] for at, value in ask.shape.demand):
        suspend(queue, ask)


def wake_users(state: State) -> None:
    """Let those compete again whose users are below their limits; looked at only where what is held, or who asks, has changed."""
    for leaf, before in list(state.contended.items()):
        if not leaf.users_blocked:
            del state.contended[leaf]
            continue
        account = next(iter(leaf.users_blocked)).application.account
        now = (tuple(leaf.usage), tuple(account.leaf.users.active)) if account is not None else None
        if now is not None and now == before:
            continue
        state.contended[leaf] = now
        full: dict[str, bool] = {}
        for ask in list(leaf.users_blocked):
            account = ask.application.account
            if account is None or not full.setdefault(account.user.name, account.full()):
                unpark(ask)


def at_user_limit(state: State, ask: Ask) -> str:
    """Return what a user holds in a queue and may have, with the numbers of now."""
    account = ask.application.account
    if account is None or not account.full():
        return "the user is below the limit again; the pod is next looked at with the next pass"
    leaf = account.leaf
    limit = limit_of(leaf, account.user.name, account.partition)
    at = next((at for at in sorted(leaf.context.calculator.deciding) if account.used[at] > limit[at]), None)
    if at is None:
        return f"user {account.user.name} is at the limit of queue {leaf.path}"
    name = state.types.names[at]
    return (
        f"user {account.user.name} holds {name} {format_amount(name, account.used[at])} in queue {leaf.path} of the "
        f"{format_amount(name, limit[at])} that one user may have now (minimumUserLimitPercent {leaf.user_limit:g}, "
        f"userLimitFactor {leaf.user_limit_factor:g}, {len(leaf.users.active)} active user{'s' if len(leaf.users.active) != 1 else ''})"
    )
