"""The driver: one function of PTIR as the bytes of an ONNX model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, SSAValue

from mind_dialect.program import input_names
from mind_dialect.ptir import YieldOp
from mind_dialect.ptir.types import read_type
from mind_passes.fusion.expand_quantized import expand_quantized
from mind_passes.ptir.expand_narrow import expand_narrow

from ..conversion import LegalitySpec
from ..conversion.legality import LegalityReport, check_function_legality
from ..outline import own_module
from .builder import NUMBERS, OnnxBuilder, package
from .dynamic import bind, not_exported
from .rules import REFUSED, RULES, is_computed, refusal

OPSET = 21
IR_VERSION = 10
"""The version of the format that belongs to the opset."""


def specification() -> LegalitySpec:
    """Return what is exported of expanded programs: stored dtypes, ops with a rule, dynamic dimensions as `dynamic` says."""
    return LegalitySpec(refuses=refusal).with_dynamic_dims(True).allow_dtypes(NUMBERS).allow_ops((*RULES, *REFUSED, YieldOp))


def expand(module: ModuleOp) -> None:
    """Replace quantisation by arithmetic, and ops of narrow dtypes by ops of those that ONNX Runtime has kernels of."""
    expand_quantized(module)
    expand_narrow(module, is_computed)


def onnx_model(func: FuncOp) -> bytes:
    """
    Return a function of Core IR or PTIR as an ONNX model, the same bytes for the same program; calls are inlined.

    Dimensions with names and expressions have them as `dim_param`; what the function declares of them, which a model cannot say,
    is listed in the graph's `doc_string`. Inputs have the names of the program's; results have those of their values, else
    `result0`. Constants are initializers.

    Raises what the verifier raises, E7002 without the package `onnx` or above 2 GB of constants, E8008 with all that has no form
    in ONNX.
    """
    onnx = package()
    module, whole = own_module(func, "onnx")
    expand(module)
    report = LegalityReport(tuple(check_function_legality(whole, specification())))
    if not report.is_legal:
        raise report.error("onnx")
    b = OnnxBuilder(onnx, set(), _inline)
    names: dict[SSAValue, str] = {}
    for argument, name in zip(whole.body.block.args, input_names(func), strict=True):
        names[argument] = b.fresh(name)
    inputs = [b.info(names[v], read_type(v.type)) for v in whole.body.block.args]
    returned = whole.body.block.last_op
    assert isinstance(returned, ReturnOp)
    outputs = [b.fresh(v.name_hint or f"result{i}" if v not in names else f"result{i}") for i, v in enumerate(returned.operands)]
    if any(not read_type(v.type).is_static for v in whole.body.block.args):
        bind(b, [(names[v], read_type(v.type).shape) for v in whole.body.block.args])
    _emit(b, whole.body.block, names)
    for value, name in zip(returned.operands, outputs, strict=True):
        b.nodes.append(onnx.helper.make_node("Identity", [names[value]], [name], name=name))
    infos = [b.info(name, read_type(v.type)) for name, v in zip(outputs, returned.operands, strict=True)]
    facts = not_exported(whole)
    graph = onnx.helper.make_graph(b.nodes, whole.sym_name.data, inputs, infos, b.initializers, doc_string=facts or None)
    opsets = [onnx.helper.make_opsetid("", OPSET)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="mind-dialect")
    return model.SerializeToString(deterministic=True)


def _emit(b: OnnxBuilder, block: Block, names: dict[SSAValue, str]) -> None:
    """Emit the ops of a block but the last one."""
    for op in block.ops:
        if op is not block.last_op:
            rule: Any = RULES[type(op)][0]  # pyright: ignore[reportArgumentType]
            made = rule(b, op, [names[v] for v in op.operands])
            names.update(zip(op.results, [made] if isinstance(made, str) else made, strict=True))


def _inline(b: OnnxBuilder, block: Block, values: Sequence[str]) -> list[str]:
    """Emit the ops of a region's block; return what it yields."""
    names: dict[SSAValue, str] = dict(zip(block.args, values, strict=True))
    _emit(b, block, names)
    assert block.last_op is not None
    return [names[v] for v in block.last_op.operands]
