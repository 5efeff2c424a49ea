"""Programs of our ops beside those of other dialects, known and unknown."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, builtin, cf, func, scf, tensor, test
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from mind_dialect import register
from mind_dialect.errors import MindError
from mind_dialect.verify import failures
from verifier_rows import types


def parse(text: str) -> ModuleOp:
    ctx = Context(allow_unregistered=True)
    for dialect in (builtin.Builtin, func.Func, arith.Arith, scf.Scf, cf.Cf, tensor.Tensor, test.Test):
        ctx.load_dialect(dialect)
    register(ctx)
    return Parser(ctx, types(text)).parse_module()


def codes(text: str, *, strict: bool = False) -> list[str]:
    return [e.code for e in failures(parse(text), strict=strict)]


def first(text: str) -> MindError:
    return next(failures(parse(text)))
