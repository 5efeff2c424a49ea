"""
Arguments of a program from a command line: `weights.npz`, `[[1, nan], [-inf, 4]]`, `fill:0`, `random:SEED`.

Each is checked against the declared dtype and shape before anything of its size is allocated; values are never cast silently.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from mind_dialect.elements import Number, UnfitError
from mind_dialect.errors import brief, error
from mind_dialect.literals import check_count, check_element, ragged
from mind_dialect.ptir.types import Kind, PtirDType
from mind_dialect.types import DType, Shape
from mind_runtime import TensorSpec

from .input_files import Array, names_a_file, read_file, type_text

MAX_BYTES = 1 << 33
"""Larger arguments are refused; call the compiled function from Python instead."""
MAX_DIGITS = 1000
KINDS = "a file (.npy, .npz, .safetensors, .json), a literal such as [[1, 2], [3, nan]] or 0.5, fill:0, or random:SEED"

_TOKEN = re.compile(r"\s*([\[\],]|[^\s\[\],]+)")


def read_input(text: str, spec: TensorSpec, place: int) -> Array:
    """
    The array that `text` describes, of the dtype and shape of `spec`; `place` is the input's index, for `random`.

    Raises E1005 and E1007 for what cannot be read, E2001 for another dtype or shape in a file, E3010 and E4005 for a literal
    that does not fit, E6004 for too much memory, E7001 for a bad seed or what has no size to be filled, E7002 for an unusable
    file, E7003 for a name that a file does not have.
    """
    size = math.prod(n for n in spec.shape if isinstance(n, int)) * spec.dtype.size
    if spec.is_static and size > MAX_BYTES:
        message = f"{type_text(spec)} needs {brief(size)} bytes, at most {MAX_BYTES} are read"
        raise error("E6004", message, shape=spec.shape, dtype=str(spec.dtype), backend="mind-run")
    if names_a_file(text):
        held = read_file(text, spec)
        return _from_literal(held, spec) if isinstance(held, str) else held
    if text.startswith("fill:"):
        numbers, shape = _nested_numbers(text.removeprefix("fill:"))
        if shape:
            raise error("E7001", f"{brief(text)}: expected one number, as in fill:0", option="fill")
        return np.full(_sizes(spec, "fill"), _element(numbers[0], spec.dtype), spec.numpy_dtype)
    if text.startswith("random:"):
        return _random(text.removeprefix("random:"), spec, place)
    return _from_literal(text, spec)


def _random(seed: str, spec: TensorSpec, place: int) -> Array:
    """Normally distributed floats, small integers from 0, or truth values; another stream for each input of one seed."""
    if not (seed.isascii() and seed.isdecimal() and len(seed) < 20):
        raise error("E7001", f"random:{brief(seed)}: the seed must be an integer from 0, as in random:7", option="random")
    shape = _sizes(spec, "random")
    generator, wanted = np.random.default_rng([int(seed), place]), spec.numpy_dtype
    kind = spec.dtype.kind if isinstance(spec.dtype, PtirDType) else Kind.FLOAT if spec.dtype.is_float else Kind.SIGNED
    if kind is Kind.FLOAT:
        return generator.standard_normal(shape).astype(wanted)
    if kind is Kind.COMPLEX:
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(wanted)
    if kind is Kind.BOOL or wanted.kind == "V":
        return generator.integers(0, 2 if kind is Kind.BOOL else 8, shape).astype(wanted)
    return generator.integers(0, 10, shape, dtype=wanted)


def _sizes(spec: TensorSpec, option: str) -> Shape:
    """The extents of `spec`; E7001 if some are not known, with how to give them."""
    if not spec.is_static:
        names = [n for n in spec.shape if isinstance(n, str) and n != "?"]
        how = f"mind-opt --shape-infer=bind={names[0]}=8 gives {names[0]} a size" if names else "give a file or a literal"
        message = f"{option}: {type_text(spec)} has dimensions without a size; {how}"
        raise error("E7001", message, option=option)
    return tuple(n for n in spec.shape if isinstance(n, int))


def _from_literal(text: str, spec: TensorSpec) -> Array:
    numbers, inferred = _nested_numbers(text)
    if not spec.fits(inferred):
        message = f"the literal has shape {brief(list(inferred))}, declared is [{', '.join(map(str, spec.shape))}]"
        raise error("E3010", message, declared=spec.shape, inferred=inferred)
    check_count(inferred, len(numbers), spec.dtype)
    return np.array([_element(n, spec.dtype) for n in numbers], dtype=spec.numpy_dtype).reshape(inferred)


def _element(number: Number, dtype: DType) -> Number:
    """`number` as `dtype` holds it, else E4005."""
    if not isinstance(dtype, PtirDType):
        return check_element(number, dtype)
    try:
        return dtype.element.check(number)
    except UnfitError as e:
        raise error("E4005", f"the element {brief(number)} of a {dtype} input {e}", dtype=str(dtype), issue=str(e)) from None


def _nested_numbers(text: str) -> tuple[list[Number], Shape]:
    """The numbers of nested brackets and their shape, read without recursion; E3010 if ragged."""
    root: list[Any] = []
    numbers: list[Number] = []
    stack: list[list[Any]] = [root]
    lengths: dict[int, int] = {}
    leaf_depth: int | None = None
    expect_value, position = True, 0
    while (match := _TOKEN.match(text, position)) is not None:
        token, position = match[1], match.end()
        if token == "[" and expect_value:
            stack.append([])
        elif token == "," and not expect_value and len(stack) > 1:
            expect_value = True
        elif token == "]" and len(stack) > 1 and (not expect_value or not stack[-1]):
            done, depth = stack.pop(), len(stack)
            if lengths.setdefault(depth, len(done)) != len(done):
                raise ragged()
            stack[-1].append(None)
            expect_value = False
        elif token not in "[],":
            if not expect_value:
                raise _unreadable(text, token)
            if leaf_depth not in (None, len(stack)):
                raise ragged()
            leaf_depth = len(stack)
            numbers.append(_number(token))
            stack[-1].append(None)
            expect_value = False
        else:
            raise _unreadable(text, token)
        if len(root) > 1:
            raise _unreadable(text, token)
    if len(stack) != 1 or len(root) != 1:
        raise _unreadable(text, "the end")
    if leaf_depth is not None and len(lengths) != leaf_depth - 1:
        raise ragged()
    return numbers, tuple(lengths[depth] for depth in sorted(lengths))


def _unreadable(text: str, token: str) -> Exception:
    return error("E1007", f"cannot read {brief(text)!r} at {brief(token)!r}, expected {KINDS}")


def _number(token: str) -> Number:
    try:
        if len(token) > MAX_DIGITS or "_" in token or not token.isascii():
            raise ValueError
        if token in ("true", "false"):
            return token == "true"
        try:
            return int(token)
        except ValueError:
            number = complex(token) if token[-1] in "jJ" else float(token)
    except ValueError:
        raise error("E1005", f"{brief(token)!r} is not a number, expected {KINDS}", text=brief(token)) from None
    if not isinstance(number, complex) and math.isinf(number) and "inf" not in token.lower():
        issue = f"{brief(token)} is beyond the finite range; write inf for infinity"
        raise error("E4005", issue, dtype="f64", issue=issue)
    return number
