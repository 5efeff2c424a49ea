"""
Products of narrow integers by the machine's dot product instructions: 32-bit words, each of some steps of the contracted axis.

    sum over k of a[k] * b[k] = sum over words w of dot(a[w], b[w])

Both operands are packed in words, and every tile works on words as it does on numbers. Sums in 32 bits are modulo 2^32, so their
order is free, and results equal those of plain multiplication for all operands: no instruction here saturates.

`vpdpbusd` multiplies unsigned by signed bytes. Where both operands are signed, the left one is packed with 128 added, and each
tile subtracts 128 times the sums of its columns: `sum a*b = sum (a + 128)*b - 128 * sum b`. Unsigned operands are multiplied as
pairs of 16-bit integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mind_dialect.ptir.types import SI8, SI16, SI32, UI8, UI32, PtirDType

from ..casts import cast
from ..lanes import Lanes, ones, register
from ..target_info import TargetInfo
from ..views import View

OFFSET = 128
"""The number added to signed bytes to make them unsigned."""
_MADD = {4: "llvm.x86.sse2.pmadd.wd", 8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}
_Pair = tuple[PtirDType, PtirDType]


@dataclass(frozen=True)
class Words:
    """
    The layout of packed operands in words: `lhs` and `rhs` are the dtypes of their factors, `factors` to a word.

    `offset` is true if the factors of the left operand have `OFFSET` added.
    """

    instruction: str
    factors: int
    lhs: PtirDType
    rhs: PtirDType
    offset: bool = False


@dataclass(frozen=True)
class DotInstruction:
    """An instruction of `TargetInfo.dots`: layouts of the words it multiplies, by dtypes of the operands, and its emitter."""

    factors: int
    layouts: Mapping[_Pair, _Pair]
    emit: Callable[[Lanes, Words, str, str, str], str]


def words_of(host: TargetInfo, lhs: View, rhs: View, total: PtirDType) -> Words | None:
    """
    Return the words that a product of `[rows, depth]` and `[depth, columns]` is computed in; None if it is not.

    Sums have 32 bits, operands 8 or 16, and the depth is a multiple of the factors in a word.
    """
    if total not in (SI32, UI32):
        return None
    operands = lhs.dtype, rhs.dtype
    for name in host.dots:
        row = DOTS[name]
        if (layout := row.layouts.get(operands)) is not None and lhs.shape[-1] % row.factors == 0:
            return Words(name, row.factors, *layout, offset=operands[0] is SI8 and layout[0] is UI8)
    return None


def by_words(view: View, words: Words | None, axis: int) -> View:
    """Return a view as one of words along an axis: each element is the first factor of a word."""
    if words is None:
        return view
    shape, strides = list(view.shape), list(view.strides)
    shape[axis] //= words.factors
    strides[axis] *= words.factors
    return View(view.base, view.dtype, tuple(shape), tuple(strides), view.offset)


def load_words(lanes: Lanes, words: Words, view: View, axis: int, base: str, index: str, stride: int) -> str:
    """
    Return words whose first factors are elements from `index` on, `stride` apart; their factors lie along an axis of the view.

    The axis says which operand it is: -1 is that of the left one, -2 that of the right one.
    """
    part = words.lhs if axis == -1 else words.rhs
    offset = OFFSET if axis == -1 and words.offset else 0
    apart, count = view.strides[axis], words.factors
    if apart == 1 and stride == count:
        wide = Lanes(lanes.function, lanes.host, lanes.width * count, _spread(lanes, count), lanes.hint)
        x = _part(wide, wide.load(view.dtype, base, index, 1), view.dtype, part, offset)
        return lanes.op(f"bitcast {wide.of(register(part))} {x} to {lanes.of('i32')}")
    word = ""
    for i in range(count):
        x = lanes.load(view.dtype, base, lanes.function.add(index, str(i * apart)), stride)
        x = lanes.convert("zext", register(part), "i32", _part(lanes, x, view.dtype, part, offset))
        if i:
            x = lanes.binary("shl", "i32", x, lanes.number("i32", i * part.bits))
        word = lanes.binary("or", "i32", word, x) if word else x
    return word


def multiply_add_words(lanes: Lanes, words: Words, a: str, b: str, c: str) -> str:
    """Return `c` plus the sums of the products of the factors in the words `a` and `b`."""
    return DOTS[words.instruction].emit(lanes, words, a, b, c)


def column_offsets(lanes: Lanes, words: Words, b: str, c: str) -> str:
    """Return `c` plus what the offset of the left operand adds to the products with `b`: words of nothing but the offset."""
    every = sum(OFFSET << (i * words.lhs.bits) for i in range(words.factors))
    return multiply_add_words(lanes, words, lanes.number("i32", every), b, c)


def _part(lanes: Lanes, x: str, source: PtirDType, part: PtirDType, offset: int) -> str:
    if offset:
        return lanes.binary("xor", register(part), x, lanes.number(register(part), offset))
    return cast(lanes, x, source, part)


def _spread(lanes: Lanes, count: int) -> str | None:
    """Return the mask of the factors of the words that count, the first ones."""
    if lanes.mask is None or lanes.mask.startswith("<"):
        return None if lanes.mask is None else ones(lanes.width * count, lanes.mask.count("true") * count)
    of = [f"i32 {i // count}" for i in range(lanes.width * count)]
    places = f"<{lanes.width * count} x i32> <{', '.join(of)}>"
    return lanes.op(f"shufflevector {lanes.of('i1')} {lanes.mask}, {lanes.of('i1')} poison, {places}")


def _quads(lanes: Lanes, words: Words, a: str, b: str, c: str) -> str:
    """`vpdpbusd`: four products of an unsigned and a signed byte, added without saturation."""
    unsigned, signed = (a, b) if words.lhs is UI8 else (b, a)
    of, name = lanes.of("i32"), f"llvm.x86.avx512.vpdpbusd.{lanes.width * 32}"
    return lanes.function.call(name, of, (of, c), (of, unsigned), (of, signed), hint=lanes.hint)


def _pairs(lanes: Lanes, words: Words, a: str, b: str, c: str) -> str:
    """`vpmaddwd`: two products of signed 16-bit integers; code generation makes `vpdpwssd` of it where there is that."""
    factors = f"<{lanes.width * 2} x i16>"
    x, y = (lanes.op(f"bitcast {lanes.of('i32')} {v} to {factors}") for v in (a, b))
    found = lanes.function.call(_MADD[lanes.width], lanes.of("i32"), (factors, x), (factors, y), hint=lanes.hint)
    return lanes.binary("add", "i32", found, c)


def _signed_alike(lanes: Lanes, words: Words, a: str, b: str, c: str) -> str:
    """`sdot` or `udot` of NEON: four products of bytes of the same signedness."""
    of, factors = lanes.of("i32"), f"<{lanes.width * 4} x i8>"
    x, y = (lanes.op(f"bitcast {of} {v} to {factors}") for v in (a, b))
    name = f"llvm.aarch64.neon.{'udot' if words.lhs is UI8 else 'sdot'}.v{lanes.width}i32.v{lanes.width * 4}i8"
    return lanes.function.call(name, of, (of, c), (factors, x), (factors, y), hint=lanes.hint)


def _scalable(lanes: Lanes, words: Words, a: str, b: str, c: str) -> str:
    """`sdot` or `udot` of SVE, whose registers scale: vectors of fixed width are all of one."""
    f, of, scaling = lanes.function, lanes.of("i32"), "<vscale x 4 x i32>"
    insert, bytes_ = f"llvm.vector.insert.nxv4i32.v{lanes.width}i32", "<vscale x 16 x i8>"
    x, y, z = (f.call(insert, scaling, (scaling, "poison"), (of, v), ("i64", "0"), immediate=(2,)) for v in (a, b, c))
    x, y = (lanes.op(f"bitcast {scaling} {v} to {bytes_}") for v in (x, y))
    name = f"llvm.aarch64.sve.{'udot' if words.lhs is UI8 else 'sdot'}.nxv4i32"
    found = f.call(name, scaling, (scaling, z), (bytes_, x), (bytes_, y))
    extract = f"llvm.vector.extract.v{lanes.width}i32.nxv4i32"
    return f.call(extract, of, (scaling, found), ("i64", "0"), hint=lanes.hint, immediate=(1,))


_SAME_SIGN: Mapping[_Pair, _Pair] = {(SI8, SI8): (SI8, SI8), (UI8, UI8): (UI8, UI8)}


_16_BITS = (SI8, UI8, SI16)
_IN_16_BITS: Mapping[_Pair, _Pair] = {(a, b): (SI16, SI16) for a in _16_BITS for b in _16_BITS}
DOTS: Mapping[str, DotInstruction] = {
    "vpdpbusd": DotInstruction(4, {(UI8, SI8): (UI8, SI8), (SI8, UI8): (SI8, UI8), (SI8, SI8): (UI8, SI8)}, _quads),
    "vpmaddwd": DotInstruction(2, _IN_16_BITS, _pairs),
    "neon.dot": DotInstruction(4, _SAME_SIGN, _signed_alike),
    "sve.dot": DotInstruction(4, _SAME_SIGN, _scalable),
}
"""By the names in `TargetInfo.dots`."""
