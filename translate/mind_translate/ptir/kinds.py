"""
The kinds of value in an op's payload: each from and to JSON, and to the text of Rust's `{:?}`, which the display form uses.

JSON nodes are what the standard library makes of a text. Rust's text is read into the same nodes (`ptir_text.rust`), so one
`read` serves both. Enums are tagged from outside, `{"Static": 2}`; a number that JSON has not is a string, `"-Infinity"`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from mind_dialect.codecs import INT64
from mind_dialect.ptir.types import DTYPES, PtirDType

from .misplaced import Misplaced, misplaced
from .nodes import Node, items, real, real_node, rust_real, rust_text, shown, text, unexpected


class AttributeKind(ABC):
    """Reader and writer of one kind of payload value."""

    optional = False
    """True if the field may be missing."""
    missing: Any = None
    """Value of a missing field."""

    @abstractmethod
    def write(self, value: Any) -> Node:
        """The JSON node of a value of a verified op."""

    @abstractmethod
    def read(self, node: Node) -> Any:
        """The value of a node; `Misplaced` for what is none."""

    @abstractmethod
    def rust(self, value: Any) -> str:
        """The value as Rust's `{:?}` shows it."""


class Integer(AttributeKind):
    """A number from `least` to 2^63 - 1."""

    def __init__(self, least: int):
        self.least = least

    def write(self, value: int) -> Node:
        return value

    def read(self, node: Node) -> int:
        if not isinstance(node, int) or isinstance(node, bool):
            raise unexpected("an integer", node)
        if not self.least <= node < INT64.stop:
            least = "0" if self.least == 0 else "-2^63"
            message = f"found {shown(node)}, expected {least} to 2^63 - 1"
            raise misplaced("E8002", message, attribute="integer", value=shown(node))
        return node

    def rust(self, value: int) -> str:
        return str(value)


class Axis(Integer):
    """An axis of operand `of` (of the result if None): read as any number, as the contract says, written from 0 up."""

    def __init__(self, of: int | None):
        super().__init__(INT64.start)
        self.of = of


class Flag(AttributeKind):
    """`true` or `false`."""

    def write(self, value: bool) -> Node:
        return value

    def read(self, node: Node) -> bool:
        if not isinstance(node, bool):
            raise unexpected("true or false", node)
        return node

    def rust(self, value: bool) -> str:
        return "true" if value else "false"


class Words(AttributeKind):
    """One of a few names, `LessEqual` there, `less_equal` here."""

    def __init__(self, words: Sequence[str], rename: Mapping[str, str] | None = None):
        renamed = rename or {}
        self._out = {word: renamed.get(word) or word.title().replace("_", "") for word in words}
        self._in = {name: word for word, name in self._out.items()}

    def write(self, value: str) -> Node:
        return self._out[value]

    def read(self, node: Node) -> str:
        if not isinstance(node, str) or (word := self._in.get(node)) is None:
            raise unexpected(f"one of {list(self._in)}", node)
        return word

    def rust(self, value: str) -> str:
        return self._out[value]


class DTypes(AttributeKind):
    """A dtype: `Fp8E4M3`."""

    _names = Words(tuple(DTYPES), {"fp8_e4m3": "Fp8E4M3", "fp8_e5m2": "Fp8E5M2"})

    def write(self, value: PtirDType) -> str:
        return self._names.write(value.name)

    def read(self, node: Node) -> PtirDType:
        try:
            return DTYPES[self._names.read(node)]
        except Misplaced as e:
            names = list(DTYPES)
            raise misplaced("E2005", f"dtype: {e.error.message}", dtype=shown(node), supported=names) from None

    def rust(self, value: PtirDType) -> str:
        return self._names.write(value.name)


class Option(AttributeKind):
    """Kind of a value that may be absent: `null`, or no field at all."""

    optional = True

    def __init__(self, item: AttributeKind):
        self.item = item

    def write(self, value: Any) -> Node:
        return None if value is None else self.item.write(value)

    def read(self, node: Node) -> Any:
        return None if node is None else self.item.read(node)

    def rust(self, value: Any) -> str:
        return "None" if value is None else f"Some({self.item.rust(value)})"


class Listed(AttributeKind):
    """A list."""

    def __init__(self, item: AttributeKind):
        self.item = item

    def write(self, value: Sequence[Any]) -> Node:
        return [self.item.write(v) for v in value]

    def read(self, node: Node) -> tuple[Any, ...]:
        return tuple(items(node, self.item.read))

    def rust(self, value: Sequence[Any]) -> str:
        return f"[{', '.join([self.item.rust(v) for v in value])}]"


class Pair(AttributeKind):
    """Two sizes."""

    def write(self, value: tuple[int, int]) -> Node:
        return list(value)

    def read(self, node: Node) -> tuple[int, int]:
        found = items(node, SIZE.read, "a pair of sizes")
        if len(found) != 2:
            raise unexpected("a pair of sizes", node)
        return found[0], found[1]

    def rust(self, value: tuple[int, int]) -> str:
        return f"({value[0]}, {value[1]})"


class Text(AttributeKind):
    """A string."""

    def write(self, value: str) -> Node:
        return value

    def read(self, node: Node) -> str:
        return text(node)

    def rust(self, value: str) -> str:
        return rust_text(value)


class Real(AttributeKind):
    """A float."""

    def write(self, value: float) -> Node:
        return real_node(value)

    def read(self, node: Node) -> float:
        return real(node)

    def rust(self, value: float) -> str:
        return rust_real(value)


class RegionId(Integer):
    """The number of a region."""

    def __init__(self) -> None:
        super().__init__(0)

    def rust(self, value: int) -> str:
        return f"RegionId({value})"


SIZE, INT, FLAG, DTYPE = Integer(0), Integer(INT64.start), Flag(), DTypes()
TEXT, REAL, REGION = Text(), Real(), RegionId()
SIZES, PAIRS = Listed(SIZE), Listed(Pair())
