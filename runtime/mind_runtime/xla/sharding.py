"""
Meshes of devices and how arrays lie on them, from what users write: JAX's own objects, or text.

    mesh "data=4,model=2"         4 x 2 devices, their axes called data and model
    sharding "data,_"             the first dimension split over the axis data, the second whole
    sharding "data+model"         one dimension split over both axes
    sharding ""                   whole on every device
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from mind_dialect.errors import MindError, brief, error
from mind_lowering.ptir_to_stablehlo.text import meshes

from ..signature import TensorSpec
from .session import devices, require, unavailable

SHARDING_ATTRIBUTE = "sdy.sharding"
MODULE = "module"
"""As a mesh: the one that the module declares, with the shardings that its inputs state."""
Axes = tuple[str, ...]
Layout = tuple[Axes, ...]
"""For each dimension of an array the axes of the mesh that it is split over, the outermost first."""

_AXIS = re.compile(r"([A-Za-z_][\w.-]*)=([1-9]\d{0,6})")
_MESH_AXIS = re.compile(r'"([^"]+)"\s*=\s*(\d+)')
_DIMENSION = re.compile(r"\{([^{}]*)\}")


def read_mesh(mesh: Any, platform: str | None) -> Any:
    """
    A `jax.sharding.Mesh` from one, or from text such as `data=4,model=2`, over the first devices that JAX has.

    E7001 for what is no mesh, E6002 where there are too few devices.
    """
    jax = require()
    if isinstance(mesh, jax.sharding.Mesh):
        return mesh
    if isinstance(mesh, str):
        return make_mesh(parse_mesh(mesh), platform)
    given = brief(type(cast(object, mesh)).__name__)
    raise error("E7001", f"mesh is a {given}, expected a jax.sharding.Mesh or text such as 'data=4,model=2'", option="mesh")


def parse_mesh(text: str) -> dict[str, int]:
    """
    The axes of a mesh in text; E7001 for other text.

    >>> parse_mesh("data=4, model=2")
    {'data': 4, 'model': 2}
    """
    axes: dict[str, int] = {}
    for part in text.split(","):
        found = _AXIS.fullmatch(part.strip())
        if found is None or found[1] in axes:
            issue = "names an axis twice" if found is not None else f"has {part.strip()!r}"
            message = f"mesh {brief(text)!r} {issue}, expected different names with sizes as in data=4,model=2"
            raise error("E7001", message, option="mesh")
        axes[found[1]] = int(found[2])
    return axes


def make_mesh(axes: Mapping[str, int], platform: str | None) -> Any:
    """A mesh over the first devices of a platform; E6002 where there are too few."""
    jax = require()
    import numpy as np

    here = devices(platform)
    count = math.prod(axes.values())
    if count > len(here):
        shown = ",".join(f"{name}={n}" for name, n in axes.items())
        hint = f"XLA_FLAGS=--xla_force_host_platform_device_count={count} makes as many of one CPU"
        raise unavailable(f"mesh {shown} has {count} devices, JAX has {len(here)} ({here[0].platform}); {hint}")
    grid = np.array(here[:count]).reshape(tuple(axes.values()))
    auto = (jax.sharding.AxisType.Auto,) * len(axes)
    return jax.sharding.Mesh(grid, tuple(axes), axis_types=auto)


def read_layout(given: Any, spec: TensorSpec, mesh: Any) -> Layout:
    """
    Read the layout of an input on the mesh: text, a `PartitionSpec`, a `NamedSharding`, or a sequence of axis names and None.

    E7001 for what is none of these or has more entries than the input dimensions, or uses an axis twice; E7003 for an unknown
    axis, E3003 for a dimension that the axes do not divide.
    """
    entries = _entries(given, spec.name)
    rank = len(spec.shape)
    if len(entries) > rank:
        issue = f"has {len(entries)} entries, expected at most {rank}, one for each dimension"
        raise _wrong(spec.name, given, issue)
    layout: Layout = (*entries, *[()] * (rank - len(entries)))
    sizes: dict[str, int] = dict(mesh.shape)
    used = [axis for axes in layout for axis in axes]
    for axis in used:
        if axis not in sizes:
            known = list(sizes)
            message = f"sharding of input {spec.name!r}: the mesh has no axis {axis!r}, expected one of {known}"
            raise error("E7003", message, name=axis, known=known)
        if used.count(axis) > 1:
            raise _wrong(spec.name, given, f"uses the axis {axis!r} twice")
    for dimension, (axes, n) in enumerate(zip(layout, spec.shape, strict=True)):
        parts = math.prod(sizes[a] for a in axes)
        if isinstance(n, int) and n % parts:
            over = " x ".join(f"{a}={sizes[a]}" for a in axes)
            message = f"sharding of input {spec.name!r}: dimension {dimension} of extent {n} does not divide by {over}"
            raise error("E3003", message, dimension=dimension, extents=(n, parts))
    return layout


def _entries(given: Any, name: str) -> list[Axes]:
    jax = require()
    if isinstance(given, jax.sharding.NamedSharding):
        given = given.spec
    if isinstance(given, str):
        parts = [part.strip() for part in given.split(",")] if given.strip() else []
        return [() if part in ("_", "") else tuple(axis.strip() for axis in part.split("+")) for part in parts]
    if isinstance(given, tuple | list) or type(given).__name__ == "PartitionSpec":
        return [_axes(entry, given, name) for entry in cast("Sequence[Any]", given)]
    raise _wrong(name, given, "is no sharding")


def _axes(entry: Any, given: Any, name: str) -> Axes:
    if entry is None:
        return ()
    axes = [entry] if isinstance(entry, str) else list(cast("Sequence[Any]", entry)) if isinstance(entry, tuple | list) else []
    if not all(isinstance(axis, str) for axis in axes) or (not axes and not isinstance(entry, tuple | list)):
        raise _wrong(name, given, f"has the entry {brief(repr(cast('object', entry)))}")
    return tuple(axes)


def _wrong(name: str, given: Any, issue: str) -> MindError:
    hint = "expected text such as 'data,_' or a jax.sharding.PartitionSpec"
    return error("E7001", f"sharding of input {name!r} is {brief(given)}, which {issue}; {hint}", option="shardings")


def named_sharding(mesh: Any, layout: Sequence[Axes]) -> Any:
    """JAX's own object for a layout."""
    jax = require()
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*layout))


# What modules state


def stated_mesh(func: FuncOp) -> dict[str, int]:
    """The axes of the one mesh that the modules around a function declare; E7001 where there is none or are several."""
    found = [mesh for mesh in meshes(func) if _mesh_axes(mesh)]
    if len(found) != 1:
        message = f"mesh 'module': the module declares {len(found)} meshes with axes, expected one sdy.mesh"
        raise error("E7001", message, option="mesh")
    return _mesh_axes(found[0])


def _mesh_axes(mesh: Operation) -> dict[str, int]:
    text = str(mesh.properties.get("mesh", ""))
    return {name: int(n) for name, n in _MESH_AXIS.findall(text)}


def stated_layouts(func: FuncOp, names: Sequence[str]) -> dict[str, Layout]:
    """
    The layouts that inputs state by `sdy.sharding`, by their names.

    E6003 for one of parts of an axis, which JAX's partition specs do not have.
    """
    found: dict[str, Layout] = {}
    attributes = func.arg_attrs.data if func.arg_attrs is not None else ()
    for name, entry in zip(names, attributes, strict=False):
        if (sharding := entry.data.get(SHARDING_ATTRIBUTE)) is not None:
            found[name] = parse_sharding(sharding, name)
    return found


def parse_sharding(sharding: Attribute, name: str) -> Layout:
    """
    The layout in a sharding of Shardy, such as `#sdy.sharding<@mesh, [{"data"}, {}]>`.

    Axes behind a bracket's `?` are free to be changed by Shardy; they are taken as they are.
    """
    text = sharding.data if isinstance(sharding, StringAttr) else str(sharding)
    if '":(' in text:
        message = f"sharding of input {name!r} is {brief(text)}, which splits a part of an axis; expected whole axes"
        raise error("E6003", message, backend="xla")
    dimensions = _DIMENSION.findall(text.partition("[")[2].partition("]")[0])
    return tuple(tuple(re.findall(r'"([^"]+)"', part)) for part in dimensions)
