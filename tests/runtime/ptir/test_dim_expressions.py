"""Sizes that are expressions of names: through every pass and executor, against NumPy and against the rules of static sizes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.func import CallOp
from xdsl.transforms.canonicalize import CanonicalizePass

from mind_dialect import ptir_shapes, register
from mind_dialect.errors import MindError
from mind_dialect.extents.dims import UNKNOWN, size_in
from mind_dialect.program import functions
from mind_dialect.ptir_shapes import Dims
from mind_dialect.verify import verify
from mind_passes.functional import jvp, vjp
from mind_passes.inline import inline_module
from mind_passes.shape.specialize import specialize
from mind_passes.vectorize import vectorize
from mind_runtime import compile
from mind_tools.frontends import parse
from mind_translate.ptir.exporter import to_program

APPEND = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @append(%w: tensor<?x2xf64, "P+T,*">, %past: tensor<?x2xf64, "P,*">, %x: tensor<?x2xf64, "T,*">)
      -> tensor<?x2xf64, "P+T,*"> {
    %c = ptir.concat %past, %x axis = 0 : (tensor<?x2xf64, "P,*">, tensor<?x2xf64, "T,*">) -> tensor<?x2xf64, "P+T,*">
    %d = ptir.mul %c, %w : tensor<?x2xf64, "P+T,*">
    %r = ptir.reshape %d new_shape = [-1] : tensor<?x2xf64, "P+T,*"> -> tensor<?xf64, "2*P+2*T">
    %s = ptir.reshape %r new_shape = ["P+T", 2] : tensor<?xf64, "2*P+2*T"> -> tensor<?x2xf64, "P+T,*">
    func.return %s : tensor<?x2xf64, "P+T,*">
  }
}"""
SIZES = [(0, 0), (2, 1), (0, 3), (4, 4)]
TARGETS = ["numpy", "native"]


def arrays(p: int, t: int, *batch: int) -> list[np.ndarray]:
    rng = np.random.default_rng(10 * p + t)
    return [rng.standard_normal((*batch, n, 2)) for n in (p + t, p, t)]


def appended(w: np.ndarray, past: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.concatenate([past, x], axis=-2) * w


def code_of(call: Any, *arguments: Any) -> str:
    with pytest.raises(MindError) as e:
        call(*arguments)
    return e.value.code


@pytest.mark.parametrize("target", TARGETS)
def test_one_program_runs_for_all_sizes(target: str) -> None:
    program = compile(parse(APPEND), target=target)
    for p, t in SIZES * 3:
        given = arrays(p, t)
        np.testing.assert_array_equal(program(*given), appended(*given))
        assert program.output_shapes(*given) == ((p + t, 2),)


@pytest.mark.parametrize("target", TARGETS)
def test_an_argument_must_have_the_size_that_its_type_computes(target: str) -> None:
    program = compile(parse(APPEND), target=target)
    w, past, x = arrays(2, 1)
    for _ in range(3):
        with pytest.raises(MindError) as e:
            program(w[:2], past, x)
        assert str(e.value) == "E8001: input w of @append: dimension 0 has size 2, expected P+T = 3"
    assert code_of(program.output_shapes, (4, 2), (2, 2), (1, 2)) == "E8001"


def test_the_derivatives_of_an_append_are_those_of_the_formula() -> None:
    module = parse(APPEND)
    gradient = compile(vjp(module, "append"), function="append_grad")
    tangent = compile(jvp(module, "append"), function="append_jvp")
    for p, t in SIZES:
        (w, past, x), (dw, dpast, dx), (cotangent, *_) = arrays(p, t), arrays(p, t), arrays(p + 7, t)
        cotangent = cotangent[: p + t]
        value, of_w, of_past, of_x = gradient(w, past, x, cotangent)
        np.testing.assert_array_equal(value, appended(w, past, x))
        np.testing.assert_array_equal(of_w, cotangent * np.concatenate([past, x]))
        np.testing.assert_array_equal(np.concatenate([of_past, of_x]), cotangent * w)
        np.testing.assert_allclose(
            tangent(w, past, x, dw, dpast, dx)[1], appended(w, dpast, dx) + appended(dw, past, x), rtol=1e-14
        )


def test_a_batch_of_appends() -> None:
    program = compile(vectorize(parse(APPEND)).module, function="append_vmap")
    for p, t in SIZES:
        given = arrays(p, t, 3)
        np.testing.assert_array_equal(program(*given), appended(*given))


def test_specialised_types_are_sizes() -> None:
    module = parse(APPEND)
    specialize(module, {"P": 2})
    (func,) = functions(module)
    assert [str(t) for t in func.function_type.inputs] == [
        'tensor<?x2xf64, "T+2,*">',
        "tensor<2x2xf64>",
        'tensor<?x2xf64, "T,*">',
    ]
    specialize(module, {"T": 5})
    verify(module)
    assert [str(t) for t in func.function_type.outputs] == ["tensor<7x2xf64>"]
    given = arrays(2, 5)
    np.testing.assert_array_equal(compile(module)(*given), appended(*given))


CALLER = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func private @double(%a: tensor<?xf64, "N">) -> tensor<?xf64, "2*N"> {
    %0 = ptir.concat %a, %a axis = 0 : (tensor<?xf64, "N">, tensor<?xf64, "N">) -> tensor<?xf64, "2*N">
    func.return %0 : tensor<?xf64, "2*N">
  }
  func.func @twice(%x: tensor<?xf64, "T">, %N: tensor<?xf64, "N">) -> tensor<?xf64, "4*T+4"> {
    %y = ptir.pad %x low = [1] high = [0] interior = [0] pad_value = 0.0 : f64 : tensor<?xf64, "T"> -> tensor<?xf64, "T+1">
    %0 = func.call @double(%y) : (tensor<?xf64, "T+1">) -> tensor<?xf64, "2*T+2">
    %1 = func.call @double(%0) : (tensor<?xf64, "2*T+2">) -> tensor<?xf64, "4*T+4">
    func.return %1 : tensor<?xf64, "4*T+4">
  }
}"""


def test_names_of_a_callee_become_expressions_of_the_caller() -> None:
    module = parse(CALLER)
    inline_module(module)
    verify(module)
    func = next(f for f in functions(module) if f.sym_name.data == "twice")
    assert not any(isinstance(op, CallOp) for op in func.walk())
    found = compile(module, function="twice")(np.arange(1.0, 3.0), np.zeros(7))
    np.testing.assert_array_equal(found, [0, 1, 2] * 4)


def test_xdsl_s_canonicalize_keeps_expressions() -> None:
    module, context = parse(APPEND), Context()
    register(context)
    CanonicalizePass().apply(context, module)
    verify(module)
    given = arrays(2, 3)
    np.testing.assert_array_equal(compile(module)(*given), appended(*given))


@pytest.mark.parametrize("target", TARGETS)
def test_names_that_no_input_gives_are_refused(target: str) -> None:
    text = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%x: tensor<?xf64, "B+T">) -> tensor<?xf64, "B+T"> {
        %0 = ptir.neg %x : tensor<?xf64, "B+T">
        func.return %0 : tensor<?xf64, "B+T">
      }
    }"""
    assert code_of(lambda: compile(parse(text), target=target)(np.ones(4))) == "E8001"


def test_a_claim_about_an_expression_is_checked_by_the_run() -> None:
    text = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%x: tensor<?xf64, "P">, %y: tensor<?xf64, "T">) -> tensor<?xf64, "2*P"> {
        %0 = ptir.concat %x, %y axis = 0 : (tensor<?xf64, "P">, tensor<?xf64, "T">) -> tensor<?xf64, "2*P">
        func.return %0 : tensor<?xf64, "2*P">
      }
    }"""
    for target in TARGETS:
        program = compile(parse(text), target=target)
        for _ in range(3):
            assert program(np.ones(3), np.ones(3)).shape == (6,)
            assert code_of(program, np.ones(3), np.ones(2)) == "E8001"


def test_the_contract_s_forms_refuse_expressions() -> None:
    assert code_of(to_program, parse(APPEND)) == "E4000"


# Rules of symbolic sizes are those of static ones

WINDOW: dict[str, Any] = {
    "window_dims": (3,),
    "strides": (2,),
    "padding": ((1, 2),),
    "base_dilation": (2,),
    "window_dilation": (2,),
}
RULES: list[tuple[str, tuple[Dims, ...], dict[str, Any]]] = [
    ("concat", ((2, "P"), (2, "T"), (2, 3)), {"axis": 1}),
    ("concat", (("P+T",), ("P",)), {"axis": 0}),
    ("pad", (("P", "T"),), {"low": (1, 0), "high": (2, 0), "interior": (0, 3)}),
    ("tile", (("P", "P+T"),), {"repeats": (3, 2)}),
    ("tile", (("P", "T"),), {"repeats": (0, 1)}),
    ("reshape", (("P", 6, "T"),), {"new_shape": (2, -1)}),
    ("reshape", (("P", 6, "T"),), {"new_shape": ("T", -1)}),
    ("reduce_window", (("P",),), WINDOW),
    ("reduce_window", (("P",),), {**WINDOW, "base_dilation": (1,), "padding": ((0, 0),)}),
    ("window_arg", (("P+T",),), {name: v for name, v in WINDOW.items() if name != "base_dilation"}),
    (
        "extract_patches",
        (("P", "T", "C"),),
        {"window": (2,), "strides": (1,), "dilation": (1,), "padding": ((0, 1),)},
    ),
    (
        "convolution",
        (("P", "T", 4), (3, 4, 8)),
        {
            "strides": (2,),
            "padding": ((1, 1),),
            "base_dilation": (1,),
            "window_dilation": (1,),
            "feature_group_count": 1,
        },
    ),
]


@pytest.mark.parametrize(("rule", "shapes", "given"), RULES, ids=lambda v: v if isinstance(v, str) else "")
def test_symbolic_extents_are_those_of_static_sizes(rule: str, shapes: tuple[Dims, ...], given: dict[str, Any]) -> None:
    of = getattr(ptir_shapes, rule)
    found = of(*shapes, **given)
    assert UNKNOWN not in found
    decided = 0
    for sizes in (dict(zip("PTC", n, strict=True)) for n in itertools.product(range(6), repeat=3)):
        here = {name: [size_in(d, sizes) if d != -1 else d for d in v] if name == "new_shape" else v for name, v in given.items()}
        try:
            static = of(*(tuple(size_in(d, sizes) for d in shape) for shape in shapes), **here)
        except MindError:
            continue  # these sizes are refused, by the run too
        decided += 1
        assert tuple(size_in(d, sizes) for d in found) == static, sizes
    assert decided > 30
