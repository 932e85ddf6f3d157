"""Whether a run did all it was asked for."""

from __future__ import annotations

from flavourbench.collect.collector import Collector
from flavourbench.collect.journal.claims import Limits
from flavourbench.collect.outcomes import TRANSPORT
from flavourbench.collect.status import Status
from flavourbench.collect.wire import MICRO
from flavourbench.errors import CheckError, shown

#: Routes whose reasons are told.
_MOST = 3


def check_complete(collector: Collector, limits: Limits, status: Status) -> None:
    """Say what was left, and why.

    Parameters
    ----------
    status : of the journal after the run

    Raises
    ------
    CheckError
        A route was given up, a limit was reached, or cells failed.
    """
    stopped = [state for state in collector.states if state.stopped is not None]
    left = sum(state.left_over for state in collector.states)
    failed = sum(state.outcomes[TRANSPORT] for state in collector.states)
    if stopped:
        reasons = "; ".join(f"{shown(s.route.slot)}: {s.stopped}" for s in stopped[:_MOST])
        more = f"; and {len(stopped) - _MOST} more" if len(stopped) > _MOST else ""
        raise CheckError(f"stopped with {left:,} cells left: {reasons}{more}")
    if collector.out_of_budget:
        caps = []
        if limits.micro_dollars is not None:
            caps.append(f"--budget {limits.micro_dollars / MICRO:g}")
        if limits.requests is not None:
            caps.append(f"--max-requests {limits.requests}")
        raise CheckError(
            f"the limit is reached with {left:,} cells left: the journal holds"
            f" {status['requests']:,} requests for ${status['dollars']:,.4f}, and"
            f" {' and '.join(caps)} allows no other"
        )
    if failed:
        raise CheckError(
            f"{failed:,} cells ended in transport: ask them again with --retry-transport"
        )
