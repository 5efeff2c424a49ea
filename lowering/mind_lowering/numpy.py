"""
The `xp` dialect as readable Python: one straight-line function per IR function, over an array namespace `xp`.

    def loss(x, w):
        v2 = xp.matmul(x, w)  # f32[2, 4]
        v3 = k.relu(v2)  # f32[2, 4]
        del v2
        return v3

Value `v3` is `%3` of the lowered function. Names from programs are turned into plain identifiers; the originals stand in a
comment, escaped. Equal programs give equal bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from keyword import iskeyword, issoftkeyword
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.target import Target

from mind_dialect.errors import error
from mind_dialect.literals import HEX_ABOVE, LiteralAttr, nested
from mind_dialect.program import functions, input_names
from mind_dialect.types import DType, read_type
from mind_dialect.verify import verify

from .core_to_xp import lowered_copy
from .kernels import DTYPE_NAMES
from .xp import Argument, CallOp, FreeOp, ReturnOp, check_frees, is_constant

HEADER = """\
# Straight-line Python over an array namespace, made by the target mind-numpy.
import numpy as xp

from mind_lowering.kernels import Kernels

k = Kernels(xp)
"""

_RESERVED = re.compile(r"xp|k|Kernels|v[0-9]+|.*_c[0-9]+")
_LONGEST = 60


class Names:
    """Plain, distinct Python identifiers for whatever a program calls its things."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def identifier(self, text: str) -> str:
        """
        An identifier like `text` which nothing else of this scope has, neither keyword nor a name the code uses itself.

        >>> names = Names()
        >>> names.identifier("w.1"), names.identifier("w 1"), names.identifier("class"), names.identifier("v3")
        ('w_1', 'w_1_1', 'class_', 'v3_')
        """
        base = re.sub(r"[^0-9A-Za-z_]", "_", text)[:_LONGEST]
        if not base or not base[0].isalpha():
            base = "n" + base
        if iskeyword(base) or issoftkeyword(base) or _RESERVED.fullmatch(base):
            base += "_"
        name = base
        while name in self._taken:
            self._taken[base] += 1
            name = f"{base}_{self._taken[base]}"
        self._taken[name] = 0
        return name


@dataclass(frozen=True)
class Source:
    """A lowered function as Python."""

    name: str
    text: str
    constants: tuple[tuple[str, LiteralAttr], ...]
    """The global names that the text uses, with their values."""
    lines: tuple[int, ...]
    """For each line of the text the number of the value it defines, or -1."""

    def printed_constants(self) -> str:
        """The constants as Python, one line each."""
        return "".join(f"{name} = {constant_text(literal)}\n" for name, literal in self.constants)


def python_source(func: FuncOp, scope: Names | None = None) -> Source:
    """The Python of a lowered function; `scope` holds the names at module level. E4000 for ops of other dialects."""
    return _Writer(func, scope or Names()).source()


class _Writer:
    def __init__(self, func: FuncOp, scope: Names):
        self.func = func
        self.scope = scope
        self.name = scope.identifier(func.sym_name.data)
        self.names: dict[SSAValue, str] = {}
        self.constants: list[tuple[str, LiteralAttr]] = []
        self.lines: list[str] = []
        self.defines: list[int] = []
        self.types: dict[Attribute, str] = {}

    def source(self) -> Source:
        block = xp_block(self.func)
        self._head(block)
        number = len(block.args)
        for op in block.ops:
            if isinstance(op, CallOp):
                if is_constant(op):
                    self._constant(op, number)
                else:
                    self._call(op, number)
                number += 1
            else:
                word = "del" if isinstance(op, FreeOp) else "return"
                self._line(f"    {word} {', '.join([self.names[v] for v in op.operands])}", -1)
        text = "\n".join(self.lines) + "\n"
        return Source(self.name, text, tuple(self.constants), tuple(self.defines))

    def _line(self, text: str, defines: int) -> None:
        self.lines.append(text)
        self.defines.append(defines)

    def _head(self, block: Block) -> None:
        locals = Names()
        originals = input_names(self.func)
        for argument, original in zip(block.args, originals, strict=True):
            self.names[argument] = locals.identifier(original)
        self._line(f"def {self.name}({', '.join(self.names.values())}):", -1)
        if self.name != self.func.sym_name.data:
            self._line(f"    # @{self.func.sym_name.data!a}", -1)
        for argument, original in zip(block.args, originals, strict=True):
            name = self.names[argument]
            called = "" if name == original else f", given as {original!a}"
            self._line(f"    # {name}: {self._type(argument.type)}{called}", -1)

    def _type(self, type: Attribute) -> str:
        if (text := self.types.get(type)) is None:
            dtype, shape = read_type(type)
            text = self.types[type] = f"{dtype}{list(shape)}"
        return text

    def _constant(self, op: CallOp, number: int) -> None:
        value = op.values()["value"]
        assert isinstance(value, LiteralAttr)
        name = self.names[op.results[0]] = f"{self.name}_c{number}"  # no other name looks like this, see _RESERVED
        self.constants.append((name, value))

    def _call(self, op: CallOp, number: int) -> None:
        names = self.names
        inputs = [names[v] for v in op.operands]
        inputs += [f"{name}={argument_text(value)}" for name, value in op.values().items()]
        result = op.results[0]
        names[result] = f"v{number}"
        self._line(f"    v{number} = {op.function}({', '.join(inputs)})  # {self._type(result.type)}", number)


def xp_block(func: FuncOp) -> Block:
    """The one block of a lowered function; E4000 names what else it holds, E4001 a use after a free."""
    blocks = func.body.blocks
    given = f"func.func with {len(blocks)} blocks" if len(blocks) != 1 else None
    if given is None:
        foreign = [op.name for op in blocks[0].ops if not isinstance(op, CallOp | FreeOp | ReturnOp)]
        given = foreign[0] if foreign else None
        if given is None and not isinstance(blocks[0].last_op, ReturnOp):
            given = "no xp.return"
    if given is not None:
        message = f"@{func.sym_name.data} is not one flat block of Core IR: found {given}, expected mind or xp ops and a return"
        raise error("E4000", message, operation=func, given=given, expected="mind or xp ops")
    check_frees(blocks[0])
    return blocks[0]


def argument_text(value: Argument) -> str:
    """A keyword argument as Python."""
    if isinstance(value, DType):
        return f"xp.{DTYPE_NAMES[value.name]}"
    return repr(value)


def constant_text(literal: LiteralAttr) -> str:
    """A constant as a call of a kernel: nested lists where they are short, hexadecimal otherwise."""
    dtype, shape = read_type(literal.type)
    name = argument_text(dtype)
    if literal.is_fill:
        return f"k.fill({_number(literal.element_texts()[0])}, {shape!r}, {name})"
    if len(literal.data.data) > HEX_ABOVE * dtype.size:
        return f'k.unhex("{literal.data.data.hex()}", {shape!r}, {name})'
    return f"k.array({nested([_number(t) for t in literal.element_texts()], shape)}, {name})"


def _number(text: str) -> str:
    return {"nan": "xp.nan", "inf": "xp.inf", "-inf": "-xp.inf"}.get(text, text)


def lowered(func: FuncOp) -> FuncOp:
    """`func`, verified; a lowered copy of it if it is Core IR. Its module stays as it is."""
    verify(func)
    if len(func.body.blocks) == 1 and isinstance(func.body.block.last_op, ReturnOp):
        return func
    return lowered_copy(func)


def print_module(module: ModuleOp) -> str:
    """Every function of a module as Python that runs as it stands; Core IR is lowered first, in a copy."""
    scope = Names()
    parts: Sequence[Source] = [python_source(lowered(func), scope) for func in functions(module)]
    return "\n".join([HEADER, *(f"{s.printed_constants()}\n{s.text}" for s in parts)])


@dataclass(frozen=True)
class NumpyTarget(Target):
    """Print straight-line Python over an array namespace."""

    name = "mind-numpy"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_module(module))
