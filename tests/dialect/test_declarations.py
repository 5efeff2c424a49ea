"""An op is declared once: xDSL's tools see what our verifier checks, and refuse by it what ours refuses with a code."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import NoneAttr, f32
from xdsl.utils.exceptions import VerifyException

from mind_dialect.codecs import Codec
from mind_dialect.core import CORE_OPS, AddOp, SumOp
from mind_dialect.core import EXTENSION_OPS as CORE_EXTENSIONS
from mind_dialect.errors import MindError
from mind_dialect.op import DialectOp
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS, CompareOp, ScatterReduceOp
from mind_dialect.types import F32, tensor_type

OPS: list[type[DialectOp]] = [*CORE_OPS, *CORE_EXTENSIONS, *PTIR_OPS, *EXTENSION_OPS]
each_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


@pytest.mark.quick
def test_every_operand_and_result_is_a_tensor_and_every_property_a_codec() -> None:
    for op in OPS:
        declared = op.get_irdl_definition()
        for _, value in (*declared.operands, *declared.results):
            assert "BaseAttr(TensorType)" in str(value.constr), op.name
        assert all(isinstance(p.constr, Codec) for p in declared.properties.values()), op.name


@each_op
def test_a_constraint_refuses_what_the_verifier_refuses(op: type[DialectOp]) -> None:
    """`none` is a property of no kind; xDSL alone finds that, and so does ours, with a code."""
    for name, declared in op.get_irdl_definition().properties.items():
        assert not declared.constr.verifies(NoneAttr())
        with pytest.raises(MindError, match="expected"):
            op.CODECS[name].value(NoneAttr())


def test_declarations_alone_verify_operands_and_properties() -> None:
    x, y = test.TestOp(result_types=[tensor_type(F32, (2,)), f32]).results
    op = AddOp.create(operands=[x, y], result_types=[x.type])
    with pytest.raises(VerifyException, match="operand 'rhs' at position 1"):
        AddOp.get_irdl_definition().verify(op)
    with pytest.raises(MindError, match="expected a tensor"):
        op.check()
    op = SumOp.create(operands=[x], properties={"axes": NoneAttr(), "keepdims": NoneAttr()}, result_types=[x.type])
    with pytest.raises(VerifyException, match="a list of i64"):
        SumOp.get_irdl_definition().verify(op)


def test_codecs_are_told_apart() -> None:
    """Constraints without fields would all be equal to each other."""
    kinds = [op.CODECS["kind"] for op in (CompareOp, ScatterReduceOp)]
    assert kinds[0] != kinds[1]
    assert len(set(kinds)) == 2
