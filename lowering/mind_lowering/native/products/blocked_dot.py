"""
The kernel of a product of few rows and blocked weights: each weight is decoded once, for all rows, as memory brings its codes.

Lanes run along the contracted axis, some rows of weights side by side. Codes of 4 bits are taken from bytes as two vectors, low
halves and high ones; the left operand is copied into this order. With permutations of 16 lanes, the weights of all codes of a
block are computed first, and looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import F32, SI8

from ..casts import cast, constant
from ..failures import Failure, Sites
from ..ir import Function, LlvmModule, float_text
from ..kernel_text import argument, index_of, multiply_add
from ..lanes import Lanes, ones
from ..target_info import TargetInfo
from ..views import Buffer, View
from .arguments import view_name
from .blocked import COLUMNS, NIBBLE
from .dot import folded
from .epilogue import begin_finishing, look_at_flag
from .kernels import BlockedStep

UNIT_BYTES = 1 << 16
"""Bytes of codes that a unit of work reads, about."""
ROWS = 4
"""Rows of the left operand that share decoded weights, at most."""
UNROLLED = 4
"""Vectors of codes of a block that are unrolled, at most."""

LEAST_BYTE = 128
"""Magnitude of the least signed byte."""

_Decoder = Callable[[str], Sequence[str]]
"""Vectors of weights, given one of codes."""


def emit_blocked(f: Function, host: TargetInfo, step: BlockedStep, sites: Sites) -> int:
    """Emit the kernel; units of work are runs of columns. How many there are."""
    watched = host.checked and step.epilogue.words
    if watched:
        sites.add(Failure.OUTSIDE, None)
    w, tall = step.weights, min(ROWS, (host.registers - 6) // COLUMNS)
    run = max(1, UNIT_BYTES * w.per_byte // (w.depth * COLUMNS)) * COLUMNS
    names: dict[tuple[int, int], str] = {}

    def sums(r: str, rows: int, j: str, count: int) -> None:
        if (rows, count) not in names:
            names[rows, count] = _dots(f.module, host, step, rows, count)
        f.do(f"call void @{names[rows, count]}(ptr %args, i64 {r}, i64 {j})")

    def unit(u: str, r: str, rows: int) -> None:
        """The products of some rows and all columns of a unit, whose codes stay in the cache meanwhile."""
        first = f.mul(u, run)
        end = f.least(f.add(first, str(run)), str(w.rows // COLUMNS * COLUMNS))
        if w.rows >= COLUMNS:
            for j in f.each(first, end, COLUMNS, hint="j"):
                sums(r, rows, j, COLUMNS)
        if rest := w.rows % COLUMNS:
            last = f.op(f"icmp eq i64 {u}, {-(-w.rows // run) - 1}", "last")
            f.when(last, lambda: sums(r, rows, str(w.rows - rest), rest))

    full = step.lhs.shape[0] // tall * tall
    for u in f.each("%begin", "%end", hint="unit"):
        for r in f.each("0", str(full), tall, hint="r"):
            unit(u, r, tall)
        if rest := step.lhs.shape[0] - full:
            unit(u, str(full), rest)
    if watched:
        look_at_flag(f)
    f.ret("0")
    return -(-w.rows // run)


def _dots(module: LlvmModule, host: TargetInfo, step: BlockedStep, rows: int, count: int) -> str:
    """Add the function of some rows of the left operand from `%row` on, and rows of weights from `%column` on."""
    f = module.function(module.unique(f"decoded.{rows}x{count}"), "void", [("ptr", "args"), ("i64", "row"), ("i64", "column")])
    f.notes.append(f"{step.name}: {rows} by {count} dot products with decoded weights")
    sums = _Sums(f, host, step, rows, count).all()
    first = 1 + len(step.weights.reads)
    places = [argument(f, first + i, view_name(view)) for i, view in enumerate(step.epilogue.views)]
    finish = begin_finishing(step.epilogue)(f, places)
    width = step.weights.width(host)
    zero = Lanes(f, host, width).constant(F32, 0)
    for r in range(rows):
        mine = [*sums[r * count : (r + 1) * count], *[zero] * (COLUMNS - count)]
        value = folded(Lanes(f, host, width, hint="sum"), "float", mine)
        lanes = Lanes(f, host, COLUMNS, ones(COLUMNS, count) if count < COLUMNS else None, "c")
        finish(lanes, [f.add("%row", str(r)), "%column"], 1, value)
    f.ret()
    return f.name


class _Sums:
    """Emitter of the sums of each of some rows of the left operand times each of `count` rows of weights, in lanes."""

    def __init__(self, f: Function, host: TargetInfo, step: BlockedStep, rows: int, count: int):
        self.f, self.w, self.tall, self.count = f, step.weights, rows, count
        self.lanes = Lanes(f, host, self.w.width(host), hint="w")
        self.looks_up = self.w.looks_up(host)
        bases = [argument(f, i, "a") for i in range(1 + len(self.w.reads))]
        self.lhs = f.address("float", bases[0], f.mul("%row", self.w.depth))
        self.places = dict(zip([v.base for v in self.w.reads[1:]], bases[2:], strict=True))
        row = self.w.depth // self.w.per_byte
        self.rows = [f.address("i8", bases[1], f.mul(f.add("%column", str(c)), row)) for c in range(count)]

    def all(self) -> list[str]:
        """The sums, those of one row of the left operand side by side."""
        f, w, width = self.f, self.w, self.lanes.width
        state = [(self.lanes.of("float"), self.lanes.constant(F32, 0))] * (self.tall * self.count)
        vectors = w.block // w.per_byte // width

        def block(b: str, /, *values: str) -> Sequence[str]:
            decode = [self._decoder(c, b) for c in range(self.count)]
            first, sums = f.mul(b, w.block // w.per_byte), list(values)
            if vectors <= UNROLLED:
                for v in range(vectors):
                    sums = self._added(decode, f.add(first, str(v * width)), sums)
                return sums

            def vector(v: str, /, *inner: str) -> Sequence[str]:
                return self._added(decode, f.add(first, v), list(inner))

            types = [(self.lanes.of("float"), s) for s in sums]
            return f.loop("0", str(vectors * width), width, vector, types, "v")

        return list(f.loop("0", str(w.depth // w.block), 1, block, state, "block"))

    def _added(self, decode: Sequence[_Decoder], at: str, sums: list[str]) -> list[str]:
        """The sums after the products with the codes from a byte of each row on."""
        f, lanes, rows = self.f, self.lanes, self.tall
        start, halves = f.mul(at, self.w.per_byte), range(self.w.per_byte)
        places = [[f.add(start, str(r * self.w.depth + h * lanes.width)) for h in halves] for r in range(rows)]
        x = [[lanes.load(F32, self.lhs, place, 1) for place in row] for row in places]
        for c in range(self.count):
            codes = lanes.load(self.w.codes.dtype, self.rows[c], at, 1)
            for h, weight in enumerate(decode[c](codes)):
                for r in range(rows):
                    place = r * self.count + c
                    sums[place] = multiply_add(lanes, F32, x[r][h], weight, sums[place])
        return sums

    def _decoder(self, c: int, block: str) -> _Decoder:
        """Return the emitter of the weights of a block: a vector of codes gives one, or two, of low and of high halves."""
        lanes, w = self.lanes, self.w
        scale = self._of_block(w.scale, c, block)
        zero = None if w.zero is None else self._of_block(w.zero, c, block)

        def weights(numbers: str) -> str:
            moved = numbers if zero is None else lanes.binary("fsub", "float", numbers, zero)
            return lanes.binary("fmul", "float", moved, scale)

        if not self.looks_up:
            return lambda codes: [weights(cast(lanes, x, w.codes.dtype, F32)) for x in self._halves(codes)]
        table = weights("<" + ", ".join(f"float {float_text(i, 'float')}" for i in range(16)) + ">")
        return lambda codes: [self._looked_up(table, x) for x in self._indices(codes)]

    def _halves(self, codes: str) -> list[str]:
        """The numbers in codes: themselves, or low and high halves."""
        lanes = self.lanes
        if self.w.per_byte == 1:
            return [codes]
        return [lanes.binary(code, "i8", codes, lanes.number("i8", n)) for code, n in (("and", NIBBLE), ("lshr", 4))]

    def _indices(self, codes: str) -> list[str]:
        """Low and high halves as indices of 32 bits, of which a permutation reads the lowest four."""
        wide = self.lanes.convert("zext", "i8", "i32", codes)
        return [wide, self.lanes.binary("lshr", "i32", wide, self.lanes.number("i32", 4))]

    def _looked_up(self, table: str, index: str) -> str:
        arguments = ((self.lanes.of("float"), table), (self.lanes.of("i32"), index))
        return self.f.call("llvm.x86.avx512.permvar.sf.512", self.lanes.of("float"), *arguments, hint="w")

    def _of_block(self, view: View, c: int, block: str) -> str:
        """The number of a block of a row of weights, in every lane, in f32."""
        if not isinstance(view.base, Buffer):
            assert isinstance(view.base, PtirLiteralAttr), "matched"
            return constant(self.lanes, view.base)
        index, place = index_of(self.f, view, [self.f.add("%column", str(c)), block]), self.places[view.base]
        if view.dtype is not F32:
            one = self.lanes.narrowed(1)
            byte = one.convert("sext" if view.dtype is SI8 else "zext", "i8", "i64", one.load(view.dtype, place, index, 0))
            index, place = self.f.add(byte, str(LEAST_BYTE)), self._numbers_of_bytes()
        return self.lanes.load(F32, place, index, 0)

    def _numbers_of_bytes(self) -> str:
        """Add a table of the numbers of bytes in f32: a second load, where a conversion would compete with multiplications."""
        return self.f.module.table("mind.bytes.f32", "float", [float(i) for i in range(-LEAST_BYTE, 256)])
