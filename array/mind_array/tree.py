"""
Containers of arrays: tuples, lists, dicts, named tuples and whatever `optree` knows, nested in any way.

`ma.tree.map(f, tree, *others)` applies a function to each leaf. The package `optree` comes with the extra `array`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .checks import check_function
from .faults import fault
from .kinds import is_dict, is_sequence

if TYPE_CHECKING:
    from .array import Array

NAMESPACE = "mind_array"
"""The namespace of `optree` in which containers of your own are registered."""


def _optree() -> Any:
    try:
        import optree
    except ImportError:
        message = "containers of arrays need the package optree, which is not installed: pip install 'mind-dialect[array]'"
        raise fault("E6002", message, requested="optree", available=[]) from None
    return optree


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """
    Return the leaves of a container, dicts by their sorted keys, and its structure; None is an empty container.

    E1105 for a container that holds itself, or is nested beyond what `optree` reads.
    """
    try:
        leaves, structure = _optree().tree_flatten(tree, namespace=NAMESPACE)
    except RecursionError:
        actual = f"a {type(tree).__name__} that is nested too deep, or that holds itself"
        raise fault("E1105", f"a container of arrays is {actual}", path="container", actual=actual) from None
    return leaves, structure


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """Return the container of a structure with these leaves."""
    spec = _optree().PyTreeSpec
    if not isinstance(structure, spec):
        actual = type(structure).__name__
        message = f"tree.unflatten: structure is of type {actual}, expected what ma.tree.structure returns"
        raise fault("E1105", message, path="structure", actual=actual)
    try:
        return _optree().tree_unflatten(structure, leaves)
    except (TypeError, ValueError):
        count: Any = len(leaves) if is_sequence(leaves) else f"a {type(leaves).__name__}"
        expected = f"{structure.num_leaves} leaves"
        message = f"tree.unflatten: found {count}, expected {expected}"
        raise fault("E1104", message, path="leaves", expected=expected, actual=str(count)) from None


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a container."""
    return flatten(tree)[0]


def structure(tree: Any) -> Any:
    """Return the structure of a container, which can be compared and hashed."""
    return flatten(tree)[1]


def map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return the container of `function` applied to each leaf of `tree` and of containers of the same structure."""
    check_function(function, "tree.map")
    first, form = flatten(tree)
    rest = [_like(form, first, other, i) for i, other in enumerate(others, start=1)]
    return unflatten(form, [function(*each) for each in zip(first, *rest, strict=True)])


def _like(form: Any, first: list[Any], other: Any, number: int) -> list[Any]:
    found, structure = flatten(other)
    if structure != form:
        message = f"tree.map: container {number} is {shown(structure)}, expected {shown(form)}"
        raise fault("E1104", message, path=f"[{number}]", expected=shown(form), actual=shown(structure))
    return found


def norm(tree: Any) -> Array:
    """Return the square root of the sum of the squares of the moduli of all elements of all leaves."""
    from .dtypes import kind_of
    from .operands import array_of
    from .rows import elementwise as e
    from .rows.parts import abs_, square
    from .rows.reductions import sum_

    arrays = [array_of(x, "tree.norm", path) for x, path in zip(leaves(tree), paths(tree, root="tree"), strict=True)]
    parts = [sum_(square(abs_(x) if kind_of(x.dtype) == "c" else x)) for x in arrays]
    if not parts:
        raise fault("E1110", "tree.norm of no arrays, expected at least one", argument="tree", value=str(tree))
    total = parts[0]
    for part in parts[1:]:
        total = e.add(total, part)
    return e.sqrt(total)


def paths(tree: Any, names: Sequence[str] | None = None, root: str = "") -> list[str]:
    """
    Return, for each leaf, how Python reaches it: `params['w'][0]`.

    `names` are those of the first axis of the container, such as the parameters of a function; else `root` is before all.
    """
    found, _, _ = _optree().tree_flatten_with_path(tree, namespace=NAMESPACE)
    return [_shown_path(path, names, root) for path in found]


def _shown_path(path: Sequence[Any], names: Sequence[str] | None, root: str) -> str:
    text: str = root
    rest: list[Any] = list(path)
    if names is not None and rest and isinstance(rest[0], int):
        first = rest.pop(0)
        text = str(names[first]) if first < len(names) else f"argument {first}"
    return text + "".join(f"[{entry!r}]" for entry in rest)


def shown(structure: Any) -> str:
    """A structure for messages."""
    text = str(structure).removeprefix("PyTreeSpec(").removesuffix(f", namespace={NAMESPACE!r})").removesuffix(")")
    return text if len(text) <= 120 else f"{text[:117]}..."


def broadcast_prefix(prefix: Any, tree: Any, what: str) -> list[Any]:
    """
    Return one entry of a prefix container for each leaf of a container; E1104 if it is no prefix.

    An integer or None in the prefix stands for everything below it.
    """
    if prefix is None or isinstance(prefix, int):
        return [prefix] * len(leaves(tree))
    if is_dict(prefix) and is_dict(tree) and prefix.keys() == tree.keys():
        order = flatten({k: i for i, k in enumerate(tree)})[0]
        keys = list(tree)
        pairs: list[tuple[Any, Any, Any]] = [(prefix[keys[i]], tree[keys[i]], keys[i]) for i in order]
    elif is_sequence(prefix) and is_sequence(tree) and len(prefix) == len(tree):
        pairs = [(p, t, i) for i, (p, t) in enumerate(zip(prefix, tree, strict=True))]
    else:
        given, expected = str(prefix)[:100], shown(structure(tree))
        message = f"{what} is {given}, expected an axis, None, or a container of these that begins as {expected}"
        raise fault("E1104", message, path=what, expected=expected, actual=given)
    return [entry for p, t, k in pairs for entry in broadcast_prefix(p, t, f"{what}[{k!r}]")]


__all__ = ["flatten", "leaves", "map", "norm", "structure", "unflatten"]
