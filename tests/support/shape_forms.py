"""Functions as text that does not depend on names, to compare what two tools made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects import cf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.traits import ConstantLike

from programs import context

OPTIONS = ("--canonicalize", "--allow-unregistered-dialect", "--mlir-print-op-generic", "--mlir-print-local-scope")


def parse(text: str) -> ModuleOp:
    ctx = context()
    ctx.load_dialect(cf.Cf)
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
