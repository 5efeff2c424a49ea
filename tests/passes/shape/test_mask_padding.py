"""Masked tails: with names bound to upper bounds, each size gives what the dynamic program gives, whatever is beyond it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import counting
import mind_array as ma
import mind_runtime
import tail_programs_with_windows
from closed_tables import expect_rows
from mind_dialect import ptir_shapes
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.ptir import CondOp, PtirOp, ScanOp, WhileOp, YieldOp
from mind_dialect.verify import verify
from mind_passes.dim_names import names_used
from mind_passes.ptir.building import row_of_kind
from mind_passes.shape.mask_padding import mask_padding
from mind_passes.shape.specialize import specialize
from mind_passes.shape.tail_rules import ROWS, WITHOUT_ROW
from mind_tools import frontends
from native_poisoned import poisoned_call
from tail_programs import CASES as PROGRAMS
from tail_programs import T3, VALID, Spec, T, Window
from tail_programs_with_windows import convolution, gather, patches, scattered

BOUND = 5
CASES = {**PROGRAMS, **tail_programs_with_windows.CASES}


def module_of(case: str) -> Any:
    body, specs = CASES[case]
    inputs = [ma.spec(shape, getattr(ma, dtype), name=f"x{i}") for i, (shape, dtype) in enumerate(specs)]
    return ma.trace(lambda *xs: body(*xs), *inputs, name="f")


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(1, 7, shape).astype(dtype)


def padded(x: Any, shape: tuple[int, ...]) -> Any:
    """An array with a tail of what makes anything that reads it wrong."""
    found = np.full(shape, np.nan, x.dtype) if x.dtype.kind == "f" else np.zeros(shape, x.dtype)
    if x.dtype.kind != "f":
        found.reshape(-1)[::2] = np.iinfo(x.dtype).max
        found.reshape(-1)[1::4] = np.iinfo(x.dtype).min
    found[tuple(map(slice, x.shape))] = x
    return found


def bound(case: str, target: str, bounds: dict[str, int] | None = None) -> tuple[Any, list[str]]:
    module = module_of(case)
    (func,) = functions(module)
    names = mask_padding(func)
    verify(module)
    assert set(names) == set(names_used(func))
    specialize(module, bounds or dict.fromkeys(names, BOUND))
    verify(module)
    return mind_runtime.compile(module, target=target), names


def several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("case", CASES)
def test_every_size_gives_what_the_dynamic_program_gives(case: str, target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    run, names = bound(case, target)
    dynamic = mind_runtime.compile(module_of(case), specialize="max_programs=0")
    rng = np.random.default_rng(0)
    for sizes in product(range(1, BOUND + 1), repeat=len(names)):
        by_name = dict(zip(names, sizes, strict=True))
        if case in VALID and not VALID[case](**by_name):
            continue
        xs = [values(rng, tuple(by_name.get(str(d), d) for d in shape), dtype) for shape, dtype in CASES[case][1]]
        widened = [tuple(BOUND if isinstance(d, str) else d for d in shape) for shape, _ in CASES[case][1]]
        tails = [padded(x, shape) for x, shape in zip(xs, widened, strict=True)]
        arguments = [*tails, *(np.array(by_name[name]) for name in names)]
        found = poisoned_call(run, arguments) if target == "native" else several(run(*arguments))
        for a, b in zip(found, several(dynamic(*xs)), strict=True):
            close = 2e-3 if b.dtype == np.float16 else 2e-5
            np.testing.assert_allclose(a[tuple(map(slice, b.shape))], b, rtol=close, atol=close / 2, err_msg=str(by_name))


CHECKED: dict[str, tuple[Any, list[Spec]]] = {
    "scattered sums": (
        lambda x, i, updates: ma.ptir.scatter_reduce(x, i, updates, kind="add", axis=0),
        [((7, 2), "float32"), (("T", 2), "int32"), (("T", 2), "float32")],
    ),
    "scattered rows": (
        lambda x, i, updates: ma.ptir.scatter_add(
            x, i, updates, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0]
        ),
        [((7, 2), "float32"), (("T",), "int32"), (("T", 2), "float32")],
    ),
    "rows of an open size": (lambda x, i: ma.ptir.take(x, i), [T3, ((2,), "int32")]),
    "elements of an open size": (lambda x, i: ma.ptir.gather(x, i, axis=0), [T3, ((2, 3), "int32")]),
    "scattered into an open size": (
        lambda x, i, updates: ma.ptir.scatter_reduce(x, i, updates, kind="add", axis=0),
        [T3, ((2, 3), "int32"), ((2, 3), "float32")],
    ),
    "scattered rows of an open size": (
        lambda x, i, updates: ma.ptir.scatter_add(
            x, i, updates, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0]
        ),
        [T3, (("T",), "int32"), (("T", 3), "float32")],
    ),
    "overwritten": (
        lambda x, i, updates: ma.ptir.scatter_reduce(x, i, updates, kind="replace", axis=0),
        [((7, 2), "float32"), (("T", 2), "int32"), (("T", 2), "float32")],
    ),
    "overwritten in an open size": (
        lambda x, i, updates: ma.ptir.scatter_reduce(x, i, updates, kind="replace", axis=0),
        [T3, (("T", 3), "int32"), (("T", 3), "float32")],
    ),
    "windows of an open size": (
        lambda x, i: gather(x, i, "raise", (1, 1)),
        [((3, "T"), "float32"), ((2, 2), "int32")],
    ),
    "windows scattered into an open size": (
        lambda x, i, updates: scattered(x, i, updates, "max", "raise"),
        [((3, "T"), "float32"), (("T", 2), "int32"), (("T", 1, 1), "float32")],
    ),
    "sums of segments": (
        lambda x, i: ma.ptir.segment_reduce(x, i, kind="sum", num_segments=7, indices_are_sorted=False, unique=False),
        [T3, (("T",), "int32")],
    ),
}


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("wrong", [-1, 3, 4, 5, 7])
@pytest.mark.parametrize("case", CHECKED)
def test_an_index_within_the_size_is_still_checked(case: str, wrong: int, target: str) -> None:
    """One that is out of range is an error though those of tails, which are out of range too, are not."""
    if target == "native":
        pytest.importorskip("llvmlite")
    body, specs = CHECKED[case]
    inputs = [ma.spec(shape, getattr(ma, dtype), name=f"x{i}") for i, (shape, dtype) in enumerate(specs)]
    module = ma.trace(lambda *xs: body(*xs), *inputs, name="f")
    (func,) = functions(module)
    mask_padding(func)
    specialize(module, {"T": BOUND})
    run = mind_runtime.compile(module, target=target)
    shapes = [tuple(3 if d == "T" else d for d in shape) for shape, _ in specs]
    rng = np.random.default_rng(0)
    limit = 3 if case.endswith("an open size") else 7
    xs = [values(rng, shape, dtype) % limit for shape, (_, dtype) in zip(shapes, specs, strict=True)]
    widened = [tuple(BOUND if d == "T" else d for d in shape) for shape, _ in specs]
    open_axis = case.endswith("an open size")
    if wrong in (3, 4, 5) and not open_axis:
        return  # inside
    for bad in (False, True):
        if bad:
            xs[1].reshape(-1)[-1] = wrong
        tails = [padded(x, shape) for x, shape in zip(xs, widened, strict=True)]
        if not bad:
            run(*tails, np.array(3))
            continue
        with pytest.raises(MindError, match="E6001: "):
            run(*tails, np.array(3))


WINDOWS = [case for case in CASES if isinstance(CASES[case][0], Window)]


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("case", WINDOWS)
def test_windows_from_every_start(case: str, target: str) -> None:
    """Against NumPy, with starts clamped against the sizes, and before and after what there is."""
    if target == "native":
        pytest.importorskip("llvmlite")
    run, names = bound(case, target)
    rng = np.random.default_rng(1)
    for sizes in product(range(1, BOUND + 1), repeat=len(names)):
        by_name = dict(zip(names, sizes, strict=True))
        if case in VALID and not VALID[case](**by_name):
            continue
        xs = [values(rng, tuple(by_name.get(str(d), d) for d in shape), dtype) for shape, dtype in CASES[case][1]]
        widened = [tuple(BOUND if isinstance(d, str) else d for d in shape) for shape, _ in CASES[case][1]]
        x, at = xs[0], next(i for i, x in enumerate(xs) if x.dtype == np.int32)
        limits = [n - m for n, m in zip(x.shape, window_of(case, by_name), strict=True)]
        whole = product(*(range(-1, limit + 2) for limit in limits))
        for starts in list(whole)[:: 1 if x.ndim < 3 else 7]:
            xs[at] = np.array(starts, np.int32)
            tails = [padded(x, shape) for x, shape in zip(xs, widened, strict=True)]
            (found,) = several(run(*tails, *(np.array(by_name[name]) for name in names)))
            first = np.clip(starts, 0, limits)
            inside = tuple(slice(s, s + m) for s, m in zip(first, window_of(case, by_name), strict=True))
            if "update" in case or case == "caches":
                expected = x.copy()
                expected[inside] = xs[1]
            else:
                expected = x[inside]
            np.testing.assert_array_equal(found[tuple(map(slice, expected.shape))], expected, err_msg=str((by_name, starts)))


def window_of(case: str, by_name: dict[str, int]) -> list[int]:
    return [by_name.get(str(n), n) for n in CASES[case][0].sizes]


RANDOM = {
    "rows": ('"T,*"', "?x3", "[T, 3]"),
    "columns": ('"*,T"', "3x?", "[3, T]"),
    "both": ('"T,T"', "?x?", "[T, T]"),
}


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("case", RANDOM)
def test_random_numbers_are_those_of_the_size(case: str, target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    encoding, dims, shape = RANDOM[case]
    kind = f"tensor<{dims}xf32, {encoding}>"
    text = f"""
    module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
      func.func @f(%x: {kind}, %y: tensor<?xf32, "T">) -> ({kind}, {kind}, tensor<f32>) {{
        %a = ptir.rng_uniform shape = {shape} dtype = f32 : {kind}
        %b = ptir.rng_normal shape = {shape} dtype = f32 : {kind}
        %c = ptir.constant 0.0 : tensor<f32>
        %d = ptir.scan %c, %y carry_count = 1 scan_output_count = 0 : (tensor<f32>, tensor<?xf32, "T">) -> tensor<f32> body {{
        ^bb0(%sum: tensor<f32>, %each: tensor<f32>):
          %r = ptir.rng_uniform shape = [] dtype = f32 : tensor<f32>
          %more = ptir.add %sum, %r : tensor<f32>
          ptir.yield %more : tensor<f32>
        }}
        func.return %a, %b, %d : {kind}, {kind}, tensor<f32>
      }}
    }}"""
    module = frontends.parse(text)
    (func,) = functions(module)
    mask_padding(func)
    specialize(module, {"T": BOUND})
    verify(module)
    run = mind_runtime.compile(module, target=target)
    for n in range(1, BOUND + 1):
        exact = frontends.parse(text)
        specialize(exact, {"T": n})
        shapes = [tuple(n if d == "?" else int(d) for d in dims.split("x")), (n,)]
        widened = [tuple(BOUND if d == "?" else int(d) for d in dims.split("x")), (BOUND,)]
        tails = [padded(np.ones(a, np.float32), b) for a, b in zip(shapes, widened, strict=True)]
        expected = mind_runtime.compile(exact)(*(np.ones(a, np.float32) for a in shapes), seed=7)
        for a, b in zip(run(*tails, np.array(n), seed=7), expected, strict=True):
            np.testing.assert_allclose(a[tuple(map(slice, b.shape))], b, rtol=1e-6)


NOT_FINITE = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("case", ["softmax", "softmax of columns", "attention", "attention over other keys"])
def test_parts_of_a_softmax_that_are_not_finite(case: str) -> None:
    """Rows that are NaN stay NaN, and no others become so."""
    run, names = bound(case, "numpy")
    dynamic = mind_runtime.compile(module_of(case), specialize="max_programs=0")
    rng = np.random.default_rng(0)
    for n, bad, at in product((1, 2, 4), NOT_FINITE, range(3)):
        by_name = dict.fromkeys(names, n)
        xs = [values(rng, tuple(by_name.get(str(d), d) for d in shape), dtype) for shape, dtype in CASES[case][1]]
        xs[at % len(xs)].reshape(-1)[:: at + 1] = bad
        widened = [tuple(BOUND if isinstance(d, str) else d for d in shape) for shape, _ in CASES[case][1]]
        tails = [padded(x, shape) for x, shape in zip(xs, widened, strict=True)]
        with np.errstate(all="ignore"):
            found = several(run(*tails, *(np.array(by_name[name]) for name in names)))
            for a, b in zip(found, several(dynamic(*xs)), strict=True):
                np.testing.assert_allclose(a[tuple(map(slice, b.shape))], b, rtol=2e-5, atol=1e-5)


AROUND: Any = {"padding": [(0, 0), (0, 0)], "window_dilation": [1, 1]}
REFUSED: dict[str, tuple[Any, list[Spec], str]] = {
    "groups of channels": (
        convolution(feature_group_count=2),
        [((2, 6, 4), "float32"), ((3, 2, "C"), "float32")],
        "convolution in groups of channels of an open size",
    ),
    "patches of channels": (
        patches(window=(2,), padding=((0, 0),)),
        [((2, 6, "C"), "float32")],
        "extract_patches of channels of an open size",
    ),
    "places in windows": (
        lambda x: ma.ptir.window_arg(x, kind="max", output_dtype=ma.int64, window_dims=[1, 2], strides=[1, 1], **AROUND),
        [((3, "T"), "float32")],
        "window_arg counts elements of x",
    ),
    "overwriting by fewer": (
        lambda x, i, updates: ma.ptir.scatter_reduce(x, i[1:], updates[1:], kind="replace", axis=0),
        [((7, 2), "float32"), (("T", 2), "int32"), (("T", 2), "float32")],
        "scatter_reduce overwrites elements by T-1 updates, expected at least 1",
    ),
    "within a loop": (
        lambda c, x: ma.scan(lambda c, y: (c + y[: 7 - x.shape[0]].sum(), None), c, ma.zeros((3, 7), dtype=ma.float32)),
        [((), "float32"), T],
        "a dimension is -T\\+7",
    ),
    "rest of a table": (
        lambda x, y: x[y.shape[0] :],
        [((7,), "float32"), T],
        "a dimension is -T\\+7, which is not known to grow",
    ),
    "last of another size": (lambda x, y: x[y.shape[0] - 1 :], [(("B",), "float32"), T], "a dimension is B-T\\+1"),
    "falling size": (
        lambda x, y: x[: 7 - y.shape[0]],
        [((7,), "float32"), T],
        "a dimension is -T\\+7, which is not known to grow with T",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_masked_is_refused_with_the_op_and_the_reason(case: str) -> None:
    body, specs, reason = REFUSED[case]
    inputs = [ma.spec(shape, getattr(ma, dtype), name=f"x{i}") for i, (shape, dtype) in enumerate(specs)]
    (func,) = functions(ma.trace(lambda *xs: body(*xs), *inputs, name="f"))
    with pytest.raises(MindError, match=f"E6003: .*{reason}"):
        mask_padding(func)


def test_a_function_of_static_sizes_stays_as_it_is() -> None:
    module = ma.trace(lambda x: ma.flip(x, axis=0), ma.spec((3,), ma.float32, name="x"), name="f")
    before = str(module)
    (func,) = functions(module)
    assert mask_padding(func) == []
    assert str(module) == before


def test_names_that_the_function_has_not() -> None:
    (func,) = functions(module_of("softmax"))
    with pytest.raises(MindError, match="E7003: no dimension is named N"):
        mask_padding(func, ["N"])


def calls(n: int) -> int:
    """How many functions are called while a function is masked that reads an input in `n` pairs of reductions."""
    body = "".join(
        f'%{kind}{i} = ptir.reduce %x kind = {kind} axes = [0] keepdims = false : tensor<?xf32, "T"> -> tensor<f32>\n'
        for i in range(n)
        for kind in ("sum", "max")
    )
    module = frontends.parse(
        'module attributes {ptir.spec_version = "ptir.v0.4"} {\n'
        f'func.func @f(%x: tensor<?xf32, "T">) -> tensor<f32> {{\n{body}func.return %sum0 : tensor<f32> }} }}'
    )
    (func,) = functions(module)
    return counting.calls(lambda: mask_padding(func))


def test_masks_cost_linear_time() -> None:
    assert calls(200) < 2.2 * calls(100)


def op_classes() -> set[type[PtirOp]]:
    every, todo = set[type[PtirOp]](), [PtirOp]
    while todo:
        kind = todo.pop()
        every.add(kind)
        todo += kind.__subclasses__()
    return {kind for kind in every if hasattr(kind, "name") and kind.__module__.startswith("mind_dialect.")}


def test_each_op_has_a_row_or_a_reason() -> None:
    by_regions = (YieldOp, CondOp, WhileOp, ScanOp)
    without = {kind for kind in op_classes() if row_of_kind(ROWS, kind) is None and kind not in by_regions}
    expect_rows("WITHOUT_ROW", WITHOUT_ROW, without)


def test_rows_are_of_ops_whose_elements_stay_where_they_are() -> None:
    """A class has a row by its base only if its result has the shape of its operands."""
    elements = {ptir_shapes.elementwise, ptir_shapes.same_shape, ptir_shapes.compare}
    for kind in op_classes():
        if kind not in ROWS and row_of_kind(ROWS, kind) is not None:
            assert kind.RULE in elements, kind
