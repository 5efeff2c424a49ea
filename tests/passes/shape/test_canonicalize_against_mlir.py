"""Canonical forms of `canonicalize-shape` and of a real mlir-opt, function by function."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.traits import ConstantLike

from mind_dialect.shape import MODERN_OPS
from mind_passes.shape.canonicalize import canonicalize
from programs import context
from shape_corpus import bodies, corpus

OPTIONS = ("--canonicalize", "--allow-unregistered-dialect", "--mlir-print-op-generic", "--mlir-print-local-scope")


def parse(text: str) -> ModuleOp:
    ctx = context()
    ctx.allow_unregistered = True
    return Parser(ctx, text).parse_module()


def shown(attribute: Attribute) -> str:
    """An attribute, elements one by one."""
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        values: Any = attribute.get_values()
        return f"{list(values)} : {attribute.type}"
    return str(attribute)


class Description:
    """A function as text that does not depend on names, nor on the places of constants."""

    def __init__(self, func: FuncOp):
        self.names: dict[SSAValue, str] = {}
        self.lines: list[str] = []
        self.block(func.body.block, "")

    def block(self, block: Block, indent: str) -> None:
        for argument in block.args:
            self.names[argument] = f"%{len(self.names)}"
        for op in block.ops:
            if op.has_trait(ConstantLike, value_if_unregistered=False):
                self.names[op.results[0]] = f"({self.head(op)} : {op.results[0].type})"
        for op in block.ops:
            if not op.has_trait(ConstantLike, value_if_unregistered=False):
                self.op(op, indent)

    def head(self, op: Operation) -> str:
        properties = {**op.attributes, **op.properties}
        return f"{op.name} {sorted((key, shown(value)) for key, value in properties.items())}"

    def op(self, op: Operation, indent: str) -> None:
        name = op.attributes["op_name__"] if "op_name__" in op.attributes else op.name
        operands = ", ".join(self.names[v] for v in op.operands)
        properties = sorted((k, shown(v)) for k, v in {**op.attributes, **op.properties}.items() if k != "op_name__")
        self.lines.append(f"{indent}{name}({operands}) {properties} -> {[str(r.type) for r in op.results]}")
        for i, result in enumerate(op.results):
            self.names[result] = f"%r{len(self.names)}_{i}"
        for region in op.regions:
            for block in region.blocks:
                self.block(block, indent + "  ")


def described(module: ModuleOp) -> Iterator[str]:
    for op in module.ops:
        assert isinstance(op, FuncOp)
        yield "\n".join(Description(op).lines)


def ours(text: str) -> ModuleOp:
    module = parse(text)
    module.verify()
    canonicalize(context(), module)
    module.verify()
    return module


@pytest.fixture(scope="module")
def both(mlir_opt: str) -> list[tuple[str, str, str]]:
    """For each function its body, our canonical form and theirs."""
    result = subprocess.run([mlir_opt, *OPTIONS], input=corpus(), text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    theirs = parse(result.stdout)
    return list(zip(bodies(), described(ours(corpus())), described(theirs), strict=True))


def test_canonical_forms_are_equal(both: list[tuple[str, str, str]]) -> None:
    assert len(both) >= 200
    for body, mine, theirs in both:
        assert mine == theirs, f"{body}\nours:\n{mine}\nmlir-opt:\n{theirs}"


def test_every_modern_op_is_in_the_corpus_and_many_functions_stay_as_they_are(both: list[tuple[str, str, str]]) -> None:
    text = corpus()
    outside = {"shape.func", "shape.return", "shape.function_library"}
    assert [op.name for op in MODERN_OPS if f"{op.name}" not in text and op.name not in outside] == []
    unchanged = list(described(parse(text)))
    kept = sum(before == mine for before, (_, mine, _) in zip(unchanged, both, strict=True))
    assert 200 <= kept <= len(both) - 200
