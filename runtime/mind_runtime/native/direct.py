"""
Calls of a dynamic program that native code takes: those of the sizes that were called last, if a program was compiled for them.

The caller, which is the dynamic program or what binds its weights, goes by the plan of that program until a call has other sizes,
or other types: the plan compares dtypes, shapes, order and memory of all arguments itself, and what it does not cover comes back.
"""

from __future__ import annotations

import weakref
from typing import Any

from ..specialized import Account, Specialized
from .callable import plan_calls, plan_that_runs, take_count


class DirectCalls:
    """The program for some sizes that takes the calls of a caller."""

    def __init__(self, caller: Any):
        self._caller = weakref.ref(caller)
        self._account: Account[Any] | None = None

    def is_of(self, caller: object) -> bool:
        """Return whether the caller is this one."""
        return self._caller() is caller

    def begin(self, sizes: Specialized[Any], account: Account[Any], program: Any, owner: Any) -> None:
        """Let the plan of `owner`, which runs `program`, take calls from now on."""
        caller, plan = self._caller(), plan_that_runs(owner)
        if self._account is account or caller is None or plan is None:
            return

        def begin() -> None:
            self._account = account
            plan_calls(caller, plan, owner)

        sizes.while_kept(account, program, begin)

    def end(self) -> None:
        """Let Python take all calls."""
        self._account = None
        if (caller := self._caller()) is not None:
            plan_calls(caller, None)

    def count(self, sizes: Specialized[Any]) -> None:
        """Count the calls that did not go through Python."""
        if (account := self._account) is not None and (calls := take_count(self._caller())):
            sizes.used(account, calls)
