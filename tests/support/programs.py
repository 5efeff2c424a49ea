"""Parsing and printing for tests: MLIR text in, modules out."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, scf, tensor, test
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from mind_dialect import register


def context() -> Context:
    """A context with our dialect and the common ones."""
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, scf.Scf, tensor.Tensor, test.Test):
        ctx.load_dialect(dialect)
    register(ctx)
    return ctx


def parse(text: str) -> ModuleOp:
    """The module that stock xDSL reads."""
    return Parser(context(), text).parse_module()
