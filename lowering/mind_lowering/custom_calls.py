"""
Custom calls: functions that others register under a name with a namespace and a version.

    register_custom_call("my_project.scale.v1", lambda xp, x, *, factor: x * factor)

The function takes the array namespace, the operands and the attributes by keyword, and returns an array or a tuple of arrays. It
must be pure. An installed package can register when a program first calls one of its targets; see `mind_dialect.call_providers`.
A target that is not registered is E8007; there is no fallback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from mind_dialect.call_providers import provided
from mind_dialect.errors import error
from mind_dialect.ptir.models import check_target

Function = Callable[..., Any]

_registered: dict[str, Function] = {}


def register_custom_call(target: str, function: Function) -> None:
    """Let `target` run `function`, from now on; E8002 for a name without namespace or version."""
    check_target(target)
    _registered[target] = function


def unregister_custom_call(target: str) -> None:
    """Forget a target; nothing happens if it is unknown."""
    _registered.pop(target, None)


def known_target(target: str) -> Function:
    """Return the function of a target; E8007 if it is not registered."""
    if (found := provided(_registered, target)) is None:
        known = sorted(_registered)
        how = f"expected one of {known}; register it with mind_lowering.custom_calls.register_custom_call"
        raise error("E8007", f"custom call {target!r} is not registered, {how}", target=target, known=known)
    return found


def run_custom_call(xp: Any, target: str, operands: Sequence[Any], attrs: Mapping[str, Any], dtypes: Sequence[Any]) -> Any:
    """
    The result of a custom call, one array or a tuple, each in memory of its own.

    E8002 for attributes that it does not take, E6006 for operands that it cannot compute with, E2001 for results of other dtypes
    than declared, E2007 for another number of them.
    """
    function = known_target(target)
    try:
        found = function(xp, *operands, **attrs)
    except TypeError as e:
        raise error("E8002", f"custom call {target!r}: {e}", attribute="attrs", value=dict(attrs)) from None
    except (ValueError, IndexError) as e:  # LinAlgError is a ValueError
        raise error("E6006", f"custom call {target!r}: {e}", operands=[tuple(x.shape) for x in operands]) from None
    results = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
    if len(results) != len(dtypes):
        message = f"custom call {target!r} returned {len(results)} results, expected {len(dtypes)}"
        raise error("E2007", message, expected=len(dtypes), actual=len(results))
    made = [_own(xp, x, operands) for x in results]
    for i, (x, dtype) in enumerate(zip(made, dtypes, strict=True)):
        if x.dtype != dtype:
            message = f"custom call {target!r} returned {x.dtype} as result {i}, expected {xp.dtype(dtype)}"
            raise error("E2001", message, expected=str(xp.dtype(dtype)), actual=str(x.dtype))
    return tuple(made) if len(made) > 1 else made[0]


def _own(xp: Any, x: Any, operands: Sequence[Any]) -> Any:
    array = xp.asarray(x)
    aliased = any(xp.may_share_memory(array, xp.asarray(operand)) for operand in operands)
    usable = array.flags.c_contiguous and getattr(array.flags, "writeable", True)
    return xp.array(array, order="C", copy=True) if aliased or not usable else array
