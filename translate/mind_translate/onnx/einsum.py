"""Einsum: products and sums over letters, operand after operand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.ir import SSAValue

from mind_dialect.errors import brief, error

from .converter import OnnxConverter, OnnxRow
from .emitter import static
from .node import Node
from .products import dot


def _einsum(to: OnnxConverter, node: Node) -> SSAValue:
    """Operand after operand: letters of both that are not needed any more are contracted, others are batch dimensions."""
    xs = node.xs()
    inputs, result = _letters(to, node.word("equation"), xs)
    for i, letters in enumerate(inputs):
        xs[i], inputs[i] = _diagonals(to, xs[i], letters)
    widened = _widened(to, xs, inputs)
    for i, (x, letters) in enumerate(zip(xs, inputs, strict=True)):
        xs[i], inputs[i] = _without_ones(to, x, letters, widened)
    found, have = _summed(to, xs[0], inputs[0], "".join(inputs[1:]) + result)
    for i in range(1, len(xs)):
        later = "".join(inputs[i + 1 :]) + result
        y, of_y = _summed(to, xs[i], inputs[i], have + later)
        batch = [c for c in have if c in of_y and c in later]
        contract = [c for c in have if c in of_y and c not in later]
        axes = [[of.index(c) for c in letters] for letters in (batch, contract) for of in (have, of_y)]
        found = dot(to, found, y, *axes)
        have = "".join([*batch, *(c for c in have if c not in of_y), *(c for c in of_y if c not in have)])
        found, have = _summed(to, found, have, later)
    if sorted(have) != sorted(result):
        raise error("E8002", f"the result {brief(result)!r} has letters that no operand has", attribute="equation", value=result)
    return to.transpose(found, [have.index(c) for c in result])


def _letters(to: OnnxConverter, equation: str, xs: Sequence[SSAValue]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, `...` spelled out by letters of its own."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(xs) or not all(re.fullmatch(r"[a-zA-Z]*(\.\.\.)?[a-zA-Z]*", t) for t in [*inputs, right]):
        raise error("E8002", f"equation {brief(equation)!r} of {len(xs)} operands", attribute="equation", value=equation)
    spare = [chr(0x100 + i) for i in range(64)]
    longest = 0
    for i, (text, x) in enumerate(zip(inputs, xs, strict=True)):
        count = len(to.shape(x)) - len(text.replace("...", ""))
        if count < 0 or (count and "..." not in text) or count > len(spare):
            raise error("E3002", f"operand {i} has rank {len(to.shape(x))}, the equation {text!r}", expected=text, actual=i)
        longest = max(longest, count)
        inputs[i] = text.replace("...", "".join(spare[64 - count :]))
    every = "".join(inputs)
    dots = "".join(spare[64 - longest :]) if longest else ""
    result = (
        right.replace("...", dots) if arrow else dots + "".join(sorted({c for c in every if every.count(c) == 1} - set(dots)))
    )
    if len(set(result)) != len(result):
        raise error("E8002", f"the result {brief(result)!r} repeats a letter", attribute="equation", value=result)
    return inputs, result


def _diagonals(to: OnnxConverter, x: SSAValue, letters: str) -> tuple[SSAValue, str]:
    """An operand in which no letter is repeated: of two axes of one letter the diagonal."""
    for letter in [c for c in dict.fromkeys(letters) if letters.count(c) > 1]:
        while letters.count(letter) > 1:
            pair = [i for i, c in enumerate(letters) if c == letter][:2]
            others = [i for i in range(len(letters)) if i not in pair]
            shape = to.shape(x)
            m, n = static((shape[pair[0]], shape[pair[1]]), "a diagonal")
            if m != n:
                raise error("E3003", f"the letter {letter!r} has the sizes {m} and {n}", dimension=letter, extents=(m, n))
            rest = tuple(shape[i] for i in others)
            x = to.reshape(to.transpose(x, [*others, *pair]), (*rest, n * n))
            x = to.part(x, len(rest), 0, n * n, n + 1)
            letters = "".join(letters[i] for i in others) + letter
    return x, letters


def _widened(to: OnnxConverter, xs: Sequence[SSAValue], inputs: Sequence[str]) -> set[str]:
    """Return the letters whose extent is not 1 in some operand."""
    return {c for x, letters in zip(xs, inputs, strict=True) for c, n in zip(letters, to.shape(x), strict=True) if n != 1}


def _without_ones(to: OnnxConverter, x: SSAValue, letters: str, widened: set[str]) -> tuple[SSAValue, str]:
    """Drop the axes of extent 1 that broadcast along those of other operands."""
    shape = to.shape(x)
    kept = [i for i, c in enumerate(letters) if shape[i] != 1 or c not in widened]
    if len(kept) == len(letters):
        return x, letters
    return to.reshape(x, tuple(shape[i] for i in kept)), "".join(letters[i] for i in kept)


def _summed(to: OnnxConverter, x: SSAValue, letters: str, needed: str) -> tuple[SSAValue, str]:
    """Sum over the letters that are not needed."""
    axes = [i for i, c in enumerate(letters) if c not in needed]
    return to.reduced("sum", x, axes, keepdims=False), "".join(c for c in letters if c in needed)


EINSUM: dict[str, OnnxRow] = {"Einsum": _einsum}
