"""Attentions whose products have their axes in any order are recognized, and compute what NumPy's einsum does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import DotGeneralOp, FusionOp
from mind_dialect.verify import verify
from mind_lowering.ptir_optimize import simplify
from mind_passes.ptir.patterns.frame import frame
from mind_passes.ptir.recognize import recognize
from mind_runtime import compile
from ptir_forms import GUARDS, like, otherwise, program, reduce, shape, spread

SIZES = {"b": 2, "h": 3, "g": 4, "t": 5, "s": 6, "d": 7, "e": 8}


class Labelled:
    """A value whose axes have letters."""

    def __init__(self, value: Any, letters: str):
        self.value, self.letters = value, letters

    def turned(self, letters: str) -> Labelled:
        if letters == self.letters:
            return self
        perm = [self.letters.index(x) for x in letters]
        return Labelled(ptir.TransposeOp(self.value, perm=perm), letters)


def dot(a: Labelled, b: Labelled, batch: str, contract: str) -> Labelled:
    values = {
        f"{role}_{side}": [x.letters.index(letter) for letter in letters]
        for role, letters in (("batch", batch), ("contract", contract))
        for side, x in (("lhs", a), ("rhs", b))
    }
    free = [x for y in (a, b) for x in y.letters if x not in batch + contract]
    return Labelled(ptir.DotGeneralOp(a.value, b.value, **values), batch + "".join(free))


def shuffled(draw: random.Random, letters: str) -> str:
    return "".join(draw.sample(letters, len(letters)))


class Drawn:
    """An attention over drawn axes: its module, its arrays, and what it computes."""

    def __init__(self, seed: int, *, spoil: str = "", form: str = ""):
        draw = self.draw = random.Random(seed)
        batch, extra = draw.choice(["", "b", "bh"]), draw.choice(["", "g"])
        self.sizes = {x: 1 if x != "s" and draw.random() < 0.25 else n for x, n in SIZES.items()}
        self.batch, self.scores = batch, f"{batch}{extra}ts"
        self.q, self.k, self.v = (shuffled(draw, x) for x in (f"{batch}{extra}td", f"{batch}sd", f"{batch}se"))
        self.out, self.masked, self.spoil = shuffled(draw, f"{batch}{extra}te"), draw.random() < 0.7, spoil
        self.form, self.hides_a_row = form, form == "guarded" and self.sizes["t"] > 1
        rng = np.random.default_rng(seed)
        self.arrays = [rng.standard_normal([self.sizes[x] for x in letters]) for letters in (self.q, self.k, self.v)]
        types = " ".join(f"f64[{','.join(str(n) for n in x.shape)}]" for x in self.arrays)
        self.module = program(types, self.body)
        simplify(self.module)

    def reduced(self, x: Any, kind: str, axis: int) -> Any:
        guards = {**GUARDS, **({"sum": (0.0, 2.0)} if self.spoil == "guard" else {})}
        found = reduce(x, kind, axis)
        return otherwise(found, *guards[kind]) if self.form == "guarded" else found

    def product(self, a: Labelled, b: Labelled, contract: str) -> Labelled:
        if self.draw.random() < 0.5:
            a, b = b, a
        return dot(a, b, shuffled(self.draw, self.batch), contract)

    def body(self, q: Any, k: Any, v: Any) -> Any:
        draw = self.draw
        z = self.product(Labelled(q, self.q), Labelled(k, self.k), "d")
        z = Labelled(ptir.MulOp(z.value, like(z.value, 0.5)), z.letters)
        z = z.turned(shuffled(draw, self.scores))
        if self.masked:
            rows, keys = (ptir.IotaOp(shape=shape(z.value), dtype="si32", axis=z.letters.index(letter)) for letter in ("t", "s"))
            seen = ptir.CompareOp(keys, rows, kind="less" if self.hides_a_row else "less_equal")
            z = Labelled(ptir.SelectOp(seen, z.value, like(z.value, -np.inf if self.hides_a_row else -1e9)), z.letters)
        after = z.turned(shuffled(draw, self.scores))
        axis = z.letters.index("s" if self.spoil != "max" else "t")
        most = Labelled(self.reduced(z.value, "max", axis), z.letters)
        e = ptir.ExpOp(ptir.SubOp(after.value, spread(most.turned(after.letters).value, after.value)))
        axis = after.letters.index("s" if self.spoil != "axis" else "t")
        total = spread(self.reduced(e, "sum", axis), e)
        weights = ptir.MulOp(ptir.ReciprocalOp(total), e) if self.form == "reciprocal" else ptir.DivOp(e, total)
        weights = Labelled(weights, after.letters).turned(shuffled(draw, self.scores))
        found = self.product(weights, Labelled(v, self.v), "s").turned(self.out)
        if self.spoil == "kept":
            return [found.value, weights.turned(self.scores).value]
        return found.value

    def expected(self) -> Any:
        q, k, v = self.arrays
        z = np.einsum(f"{self.q},{self.k}->{self.scores}", q, k) * 0.5
        if self.masked:
            t, s = z.shape[-2:]
            z = np.where(np.arange(s) < np.arange(t)[:, None] + (not self.hides_a_row), z, -np.inf)
        most = z.max(-1, keepdims=True)
        e = np.exp(z - np.where(most == -np.inf, 0, most))
        return np.einsum(f"{self.scores},{self.v}->{self.out}", e / np.maximum(e.sum(-1, keepdims=True), 1e-300), v)

    def run(self) -> Any:
        return compile(self.module, target="numpy")(*self.arrays)


def attentions(module: ModuleOp) -> Sequence[Any]:
    return [op for op in walk(module) if isinstance(op, FusionOp) and op.values()["pattern"] == "attention"]


@pytest.mark.parametrize("form", ["", "reciprocal", "guarded"])
@pytest.mark.parametrize("seed", range(120))
def test_any_order_of_axes_is_recognized(seed: int, form: str) -> None:
    drawn = Drawn(seed, form=form)
    np.testing.assert_allclose(drawn.run(), drawn.expected(), atol=1e-13)
    recognize(drawn.module)
    verify(drawn.module)
    np.testing.assert_allclose(drawn.run(), drawn.expected(), atol=1e-13)
    if all(drawn.sizes[x] == 1 for x in drawn.scores if x in "gt"):
        return  # one row for all keys: its products are those of vectors
    assert len(attentions(drawn.module)) == 1
    assert not any(isinstance(op, DotGeneralOp) and not isinstance(op.parent_op(), FusionOp) for op in walk(drawn.module))


@pytest.mark.parametrize("spoil", ["max", "axis", "kept", "guard"])
@pytest.mark.parametrize("seed", range(12))
def test_others_stay(seed: int, spoil: str) -> None:
    """Extremes or sums along another axis than keys, weights that are a result, and other numbers in place of a sum of 0."""
    drawn = Drawn(seed, spoil=spoil, form="guarded" if spoil == "guard" else "")
    before = str(drawn.module)
    assert not frame(drawn.module)
    assert str(drawn.module) == before


@pytest.mark.parametrize("seed", range(12))
def test_a_framed_attention_stays(seed: int) -> None:
    drawn = Drawn(seed)
    frame(drawn.module)
    assert not frame(drawn.module)
