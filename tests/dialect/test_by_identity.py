"""What is remembered by the identity of attributes, and `isinstance` of op classes."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.interfaces import ConditionallySpeculatableInterface
from xdsl.ir import Attribute, Operation

from mind_dialect import by_identity as module
from mind_dialect.by_identity import by_identity
from mind_dialect.op_class import OpClass
from mind_dialect.ptir import OPS_BY_OPCODE, AddOp, ConstantOp, PtirLiteralAttr
from mind_dialect.ptir.types import F32


def test_a_function_is_called_once_for_each_object():
    calls: list[Attribute] = []

    @by_identity
    def length(attribute: Attribute) -> int:
        calls.append(attribute)
        return len(str(attribute))

    one, other = StringAttr("a"), StringAttr("a")
    assert one == other
    assert [length(one), length(one), length(other)] == [3, 3, 3]
    assert len(calls) == 2
    assert calls[0] is one
    assert calls[1] is other


def test_errors_are_not_remembered():
    calls: list[Attribute] = []

    @by_identity
    def fails(attribute: Attribute) -> int:
        calls.append(attribute)
        raise ValueError(str(attribute))

    attribute = StringAttr("a")
    for _ in range(2):
        with pytest.raises(ValueError, match="a"):
            fails(attribute)
    assert calls == [attribute, attribute]


def test_memory_is_bounded_and_ids_are_not_mistaken(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST", 4)
    calls: list[str] = []

    @by_identity
    def text(attribute: Attribute) -> str:
        calls.append(str(attribute))
        return str(attribute)

    kept = StringAttr("kept")
    text(kept)
    assert [text(StringAttr(str(i))) for i in range(50)] == [f'"{i}"' for i in range(50)]  # freed at once: ids come again
    text(kept)
    assert calls.count('"kept"') == 2, "it was forgotten meanwhile"


def test_isinstance_of_op_classes_is_that_of_their_subclasses():
    op: Operation = ConstantOp(PtirLiteralAttr.from_values(F32, (), [1.0]))
    assert isinstance(op, ConstantOp)
    assert isinstance(op, ConditionallySpeculatableInterface)
    assert not isinstance(op, AddOp)
    assert len(OPS_BY_OPCODE) > 50
    for cls in OPS_BY_OPCODE.values():
        assert type(cls) is OpClass
        assert isinstance(op, cls) == issubclass(type(op), cls)
