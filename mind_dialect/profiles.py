"""
The two levels of strictness, stored as the attribute `mind.profile` on a function or module.

`core-v1` is the given specification and the default. `core-v1.1` is the newest public text: `Div`, the gradient of `Conv2d`,
negative axes (from the end), negative slice bounds (clamped to 0).
"""

from __future__ import annotations

from enum import StrEnum

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from .errors import error

PROFILE_ATTRIBUTE = "mind.profile"


class Profile(StrEnum):
    """The version of the specification that a function is verified against."""

    CORE_V1 = "core-v1"
    CORE_V1_1 = "core-v1.1"


def parse_profile(text: str) -> Profile:
    """Return the profile called `text`; E7001 if there is none."""
    try:
        return Profile(text)
    except ValueError:
        known = [str(p) for p in Profile]
        raise error("E7001", f"unknown profile {text!r}, expected one of {known}", option="profile") from None


def profile_of(op: Operation | None) -> Profile:
    """
    The profile that holds for `op`: that of the nearest enclosing op which states one, else `core-v1`.

    Raises E4000 when the attribute is not the name of a profile.
    """
    while op is not None:
        if (attr := op.attributes.get(PROFILE_ATTRIBUTE)) is not None:
            if isinstance(attr, StringAttr) and attr.data in set(Profile):
                return Profile(attr.data)
            known = [str(p) for p in Profile]
            raise error("E4000", f"{PROFILE_ATTRIBUTE} is {attr}, expected one of {known}", given=str(attr), expected=known)
        op = op.parent_op()
    return Profile.CORE_V1
