from __future__ import annotations

from itertools import product

import pytest

from requirements import proves
from serai.contract import AgentStatus, check_transition, may_become
from serai.errors import IllegalTransition

# Written out on its own, so that a slip in the source's set arithmetic shows.
TABLE = """
starting   active idle waiting blocked paused failed
active     idle waiting blocked paused offline releasing failed
idle       active waiting blocked paused offline releasing failed
waiting    active idle blocked paused offline releasing failed
blocked    active idle waiting paused offline releasing failed
paused     active idle waiting blocked offline releasing failed
offline    active idle waiting blocked paused failed released
releasing  released failed
failed     starting released
released
"""
ALLOWED = {line.split()[0]: line.split()[1:] for line in TABLE.strip().splitlines()}


@pytest.mark.parametrize(
    "status", [pytest.param(name, marks=proves(f"caps:AgentStatus.{name}"), id=name) for name in ALLOWED]
)
def test_a_status_has_its_name_on_the_wire(status: str) -> None:
    assert AgentStatus(status).value == status
    assert AgentStatus[status.upper()] is AgentStatus(status)


@pytest.mark.parametrize(("before", "after"), list(product(AgentStatus, AgentStatus)))
def test_a_status_may_follow_another_only_as_the_table_says(before: AgentStatus, after: AgentStatus) -> None:
    allowed = after.value in ALLOWED[before.value]
    assert may_become(before, after) is allowed
    if allowed:
        check_transition(before, after)
    else:
        with pytest.raises(IllegalTransition) as caught:
            check_transition(before, after)
        assert (caught.value.before, caught.value.after) == (before, after)
