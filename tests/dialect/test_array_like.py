"""Expressions read like NumPy's arrays: each form is that of NumPy, in ops of Core IR, or a coded error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect import build as b
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.verify import verify
from mind_runtime import compile

X = np.arange(1.0, 25.0, dtype=np.float32).reshape(2, 3, 4)

FORMS: dict[str, Any] = {
    "x ** 2": lambda x: x**2,
    "x ** 7": lambda x: (x * 0.5) ** 7,
    "x ** -1": lambda x: x**-1,
    "x.sum()": lambda x: x.sum(),
    "x.sum(axis=1)": lambda x: x.sum(axis=1),
    "x.sum(axis=(0, -1), keepdims=True)": lambda x: x.sum(axis=(0, -1), keepdims=True),
    "x.mean(-1)": lambda x: x.mean(-1),
    "x.T": lambda x: x.T,
    "x.transpose(1, 0, 2)": lambda x: x.transpose(1, 0, 2),
    "x.transpose((2, 0, 1))": lambda x: x.transpose((2, 0, 1)),
    "x.reshape(6, -1)": lambda x: x.reshape(6, -1),
    "x.reshape((3, 8))": lambda x: x.reshape((3, 8)),
    "x[0]": lambda x: x[0],
    "x[-1, 2, 3]": lambda x: x[-1, 2, 3],
    "x[:, 1:, ::2]": lambda x: x[:, 1:, ::2],
    "x[..., -1]": lambda x: x[..., -1],
    "x[1, ..., 1:3]": lambda x: x[1, ..., 1:3],
    "x[...]": lambda x: x[...] * 1.0,
    "x[:1].squeeze(0)": lambda x: x[:1].squeeze(0),
    "x[:1, :, :1].squeeze()": lambda x: x[:1, :, :1].squeeze(),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_that_of_numpy(name: str):
    form = FORMS[name]
    module = b.program("f", form(b.variable("x", np.float32, (2, 3, 4))))
    verify(module)
    np.testing.assert_allclose(compile(module)(X), form(X), rtol=1e-6)


def test_an_expression_is_iterated_over_along_its_first_axis():
    first, second = b.variable("x", "f32", (2, 3))
    assert first.shape == second.shape == (3,)
    with pytest.raises(MindError, match="E3002"):
        list(b.variable("x", "f32", ()))


def test_powers_are_few_products():
    module = b.program("f", b.variable("x", "f32", (2,)) ** 8)
    assert [op.name for op in next(iter(functions(module))).body.block.ops] == ["mind.mul"] * 3 + ["func.return"]


def test_an_axis_counted_from_the_end_is_one_of_the_oldest_profile():
    x = b.variable("x", "f32", (2, 3))
    for e in (b.sum(x, axis=-1), b.mean(x, axis=-1), x.sum(-1)):
        assert "mind.profile" not in str(b.program("f", e))


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float32"), "float32", "f32"])
def test_dtypes_of_numpy_are_those_of_core_ir(dtype: Any):
    assert str(b.variable("x", dtype, (2,)).dtype) == "f32"
    assert str(b.literal([1.0], dtype).dtype) == str(b.full((2,), 1.0, dtype).dtype) == "f32"


WRONG: dict[str, tuple[Any, str]] = {
    "a power that is no integer": (lambda x: x**0.5, "E4000"),
    "a power of 0": (lambda x: x**0, "E4000"),
    "a huge power": (lambda x: x**1000, "E4000"),
    "an index too far": (lambda x: x[2], "E4012"),
    "too many indices": (lambda x: x[0, 0, 0], "E4006"),
    "... twice": (lambda x: x[..., ...], "E4006"),
    "an index that is not a number": (lambda x: x["a"], "E4000"),
    "a new axis": (lambda x: x[None], "E4000"),
    "a step back": (lambda x: x[::-1], "E4008"),
    "an axis out of range": (lambda x: x.sum(axis=2), "E3004"),
    "an axis that is not a number": (lambda x: b.sum(x, axis="a"), "E3004"),
    "no axes": (lambda x: x.sum(axis=()), "E3004"),
    "a dtype that Core IR lacks": (lambda x: b.variable("y", np.float16, (2,)), "E2005"),
    "what is no dtype": (lambda x: b.variable("y", 3, (2,)), "E2005"),
    "an extent that is not 1": (lambda x: x.squeeze(0), "E3009"),
    "elements that do not fit": (lambda x: x.reshape(4, 2), "E3007"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_core_ir_cannot_say_is_a_coded_error(name: str):
    call, code = WRONG[name]
    with pytest.raises(MindError) as caught:
        call(b.variable("x", "f32", (2, 3)))
    assert caught.value.code == code
