"""Passes and targets as the command line specifies them: a name, and options with values."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, TypeVar, cast, get_type_hints

from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible

from mind_dialect.errors import error

from .flags import unknown_option

_Made = TypeVar("_Made", bound=ArgSpecConvertible)


def instance_of(what: str, described: type[_Made], spec: ArgSpec) -> _Made:
    """Return the pass or target of a specification; E7001 for options that it does not have, or with impossible values."""
    known = [f.name.replace("_", "-") for f in dataclasses.fields(cast(Any, described)) if f.name != "name"]
    for given in spec.parameters:
        if given.replace("_", "-") not in known:
            raise unknown_option(f"{what} {spec.name}", given, known)
    try:
        return described.from_spec(spec)
    except (ValueError, TypeError) as e:
        raise error("E7001", f"{what} {spec.name}: {_misfit(described, spec) or e}", option=spec.name) from e


def _misfit(described: type[ArgSpecConvertible], spec: ArgSpec) -> str | None:
    """Return the option that has an illegal value: the one without which the rest is legal."""
    for name, given in spec.parameters.items():
        try:
            described.from_spec(ArgSpec(spec.name, {k: v for k, v in spec.parameters.items() if k != name}))
        except (ValueError, TypeError):
            continue
        expected = re.sub(r"typing\.Literal\[(.*)\]", r"one of \1", str(get_type_hints(described)[name.replace("-", "_")]))
        shown = expected.removesuffix(" | None").removeprefix("<class '").removesuffix("'>")
        return f"{name}={','.join(map(str, given))}, expected {shown}"
    return None
