"""Code for words of narrow integers (`words.py`): how they are read and packed, and the instructions that multiply them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mind_dialect.ptir.types import UI8, PtirDType

from ..casts import cast
from ..lanes import Lanes, ones, register
from ..views import View
from .words import OFFSET, Words

_MADD = {4: "llvm.x86.sse2.pmadd.wd", 8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}


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
    return EMITTERS[words.instruction](lanes, words, a, b, c)


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


EMITTERS: Mapping[str, Callable[[Lanes, Words, str, str, str], str]] = {
    "vpdpbusd": _quads,
    "vpmaddwd": _pairs,
    "neon.dot": _signed_alike,
    "sve.dot": _scalable,
}
"""By the names of `DOTS`."""
