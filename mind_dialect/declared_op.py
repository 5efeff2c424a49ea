"""Declarations of ops, read once for each class: the names of operands, results, properties and regions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, TypeVar, cast

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, OpDef, OptionalDef, VariadicDef

from .codecs import Codec
from .op_class import OpClass

T = TypeVar("T")


class Declared(Generic[T]):
    """The declaration of an op, read once; the accessors of the op class are its source."""

    def __init__(self, read: Callable[[OpDef], T]):
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, op: Operation | None, cls: type[IRDLOperation]) -> T:
        value = self._read(cls.get_irdl_definition())
        setattr(cls, self._name, value)
        return value


def _results(op: OpDef) -> tuple[str, ...] | None:
    variadic = any(isinstance(result, VariadicDef) for _, result in op.results)
    return None if variadic else tuple(name for name, _ in op.results)


def _codecs(op: OpDef) -> dict[str, Codec]:
    """The constraints of the properties, all of which are codecs."""
    return {name: cast(Codec, declared.constr) for name, declared in op.properties.items()}


class DeclaredOp(IRDLOperation, ABC, metaclass=OpClass):
    """An op whose properties are declared by codecs."""

    OPCODE: ClassVar[str]
    """The specification's name of the op."""
    OPERANDS: ClassVar[Declared[tuple[str, ...]]] = Declared(lambda op: tuple(name for name, _ in op.operands))
    """The names of the operands."""
    VARIADIC: ClassVar[Declared[bool]] = Declared(lambda op: any(isinstance(o, VariadicDef) for _, o in op.operands))
    """True if the last of `OPERANDS` stands for any number of them."""
    RESULTS: ClassVar[Declared[tuple[str, ...] | None]] = Declared(_results)
    """The names of the results; None if their number depends on the op."""
    CODECS: ClassVar[Declared[Mapping[str, Codec]]] = Declared(_codecs)
    """The op's properties, each with its kind."""
    OPTIONAL: ClassVar[Declared[frozenset[str]]] = Declared(
        lambda op: frozenset(name for name, p in op.properties.items() if isinstance(p, OptionalDef))
    )
    """The properties that may be absent; their value is then None."""
    REGION_NAMES: ClassVar[tuple[str, ...]] = ()
    """Names of the op's regions in the text form."""
