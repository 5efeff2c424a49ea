"""
Names of values in messages: the name in the text that a value was read from, else its SSA name, else its ValueId.

A parser notes the names of an op's results on the op's location, which copies of the op and what passes put in its place keep. So
an error speaks of `%h` where it quotes the line that defines `%h`, whatever became of the op, and of `%0` where the text says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.ir import Attribute, Block, Operation, SSAValue

_NOTED = "_result_names"
SYMBOL_ATTRIBUTE = "sym_name"
VISIBILITY_ATTRIBUTE = "sym_visibility"
VISIBILITIES = ("public", "private", "nested")
"""The visibilities that a symbol may have."""


def note_names(location: Attribute, names: Sequence[str]) -> None:
    """Note on a location that one op alone has how a text calls the op's results, each without its `%`."""
    if names:
        object.__setattr__(location, _NOTED, tuple(names))


def noted_names(op: Operation) -> tuple[str, ...]:
    """Return the names of `op`'s results in the text that it was read from; empty if no text is known."""
    return cast(tuple[str, ...], getattr(op.location, _NOTED, ()))


def known_name(value: SSAValue) -> str | None:
    """`%` and the name that a text or a name hint gives the value; None if neither does."""
    owner = value.owner
    if isinstance(owner, Operation):
        names, i = noted_names(owner), owner.results.index(value) if len(owner.results) > 1 else 0
        if i < len(names):
            return f"%{names[i]}"
    return f"%{value.name_hint}" if value.name_hint is not None else None


def named_values(block: Block) -> dict[str, list[SSAValue]]:
    """
    The results in a block by the names that their author gave them; a number is no name.

    A text has a name in full, where a name hint lacks the `_1` at its end. Values that no text names are told apart as in print.
    Calls put in place can give several values one name of a text.
    """
    found: dict[str, list[SSAValue]] = {}
    counts: dict[str, int] = {}
    for op in block.ops:
        noted = noted_names(op)
        for i, value in enumerate(op.results):
            if (hint := value.name_hint) is None:
                continue
            name = noted[i] if i < len(noted) and SSAValue.is_valid_name(noted[i]) else ""
            if not name or SSAValue.extract_valid_name(name) != hint:
                n = counts[hint] = counts.get(hint, -1) + 1
                name = f"{hint}_{n}" if n else hint
            found.setdefault(name, []).append(value)
    return found


def value_ids(block: Block) -> dict[SSAValue, int]:
    """The ValueId of every value of a block: its place in definition order, arguments first."""
    ids: dict[SSAValue, int] = {}
    for value in block.args:
        ids[value] = len(ids)
    for op in block.ops:
        for value in op.results:
            ids[value] = len(ids)
    return ids


def shown_value(value: SSAValue, ids: Mapping[SSAValue, int] | None = None) -> str:
    """Return the name of a value for messages; `ids` are the ValueIds of its block, if the caller has them."""
    if (name := known_name(value)) is not None:
        return name
    block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
    if block is None:
        return "a value of no block"
    number = None if ids is None else ids.get(value)
    return f"%{value_ids(block)[value] if number is None else number}"


def shown_op(opcode: str, op: Operation, ids: Mapping[SSAValue, int] | None = None) -> str:
    """
    Return the name of an op for messages: its opcode and, inside a block, the name of its result, or of its results together.
    """
    if op.parent is None or not op.results:
        return opcode
    return f"{opcode} {shown_value(op.results[0], ids).removesuffix('#0')}"
