"""
Programs with open dimensions as StableHLO: read back they give what they gave, and so does XLA once sizes are refined.

Each op that may have open dimensions occurs; sizes that a call must not have are refused by what reads the text, too.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from mind_dialect import ptir
from mind_dialect.declared_dims import declarations_of
from mind_dialect.errors import MindError
from mind_dialect.extents.dims import names_in, size_in
from mind_dialect.program import functions
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import DTYPES, TensorSpec, read_type
from mind_dialect.stablehlo.types import plain, stablehlo_type
from mind_lowering.ptir_kernels.formats import array_dtype, format_of
from mind_lowering.ptir_to_stablehlo import (
    CONVERTED,
    ConvertPtirToStablehloPass,
    ExportOptions,
    StablehloProgram,
    stablehlo_program,
)
from mind_lowering.ptir_to_stablehlo.convert import CHECK, SEED
from mind_lowering.ptir_to_stablehlo.dynamic import LIMITS
from mind_lowering.ptir_to_stablehlo.elementwise import RULES as ELEMENTWISE
from mind_runtime import compile
from mind_runtime.xla.artifact import exported
from mind_translate.stablehlo import read_stablehlo
from programs import parse
from ptir_forms import program
from stablehlo_dynamic_programs import CHECKED, LOOPS_AND_INDICES, PATCHES, random_numbers, scan

Body = Callable[..., Any]
OPEN = ExportOptions(dynamic=True)


def dimension(x: Any, axis: int) -> Any:
    return ptir.CastOp(ptir.DimensionSizeOp(x, axis=axis), dtype="f32")


def product(x: Any, y: Any) -> Any:
    return ptir.DotGeneralOp(x, y, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))


def cond(p: Any, x: Any, y: Any) -> Any:
    def longer(a: Any, b: Any) -> list[Any]:
        return [ptir.SliceOp(ptir.ConcatOp(a, b, axis=0), starts=("B-1",), sizes=("B",))]

    return ptir.CondOp(p, x, y, true=longer, false=lambda a, b: [ptir.NegOp(a)])


WINDOW = {
    **{"window_dims": (3, 2), "strides": (2, 1), "padding": ((1, 0), (0, 1))},
    **{"base_dilation": (1, 1), "window_dilation": (1, 1)},
}
CONV: dict[str, Any] = {
    **{"strides": (2, 1), "padding": ((1, 1), (0, 0)), "base_dilation": (1, 1), "window_dilation": (1, 1)},
    **{"feature_group_count": 1, "accum_dtype": None, "out_dtype": None},
}
CASES: dict[str, tuple[str, Body, tuple[str, ...]]] = {
    "elementwise": ("f32[B,3] f32[B,3]", lambda x, y: ptir.SelectOp(ptir.CompareOp(x, y, kind="less"), x, ptir.TanhOp(y)), ()),
    "cast": ("f32[B]", lambda x: [ptir.CastOp(x, dtype="si8"), ptir.CastOp(x, dtype="f16"), ptir.SignOp(x)], ()),
    "append": ("f32[P,2] f32[T,2] f32[P+T,2]", lambda x, y, m: ptir.MulOp(ptir.ConcatOp(x, y, axis=0), m), ()),
    "halves": ("f32[2*B]", lambda x: ptir.ReshapeOp(x, new_shape=("B", 2)), ()),
    "solved": ("f32[2*B+1] f32[B+C]", lambda x, y: [ptir.IotaOp(shape=("B", "C"), dtype="f32", axis=1), ptir.NegOp(x)], ()),
    "flat": ("f32[B,6]", lambda x: ptir.ReshapeOp(ptir.TransposeOp(x, perm=(1, 0)), new_shape=("6*B",)), ()),
    "broadcast": ("f32[C] f32[B]", lambda x, y: [ptir.BroadcastToOp(x, result_shape=("B", "C")), ptir.NegOp(y)], ()),
    "last": ("f32[B,3]", lambda x: ptir.SliceOp(x, starts=("B-2", 0), sizes=(2, 3)), ("B >= 2",)),
    "first": ("f32[B,3]", lambda x: ptir.SliceOp(x, starts=(0, 1), sizes=(2, 2)), ("B >= 2",)),
    "half": ("f32[B]", lambda x: ptir.SliceOp(x, starts=(0,), sizes=("B floordiv 2",)), ()),
    "strided": ("f32[B,3]", lambda x: ptir.StridedSliceOp(x, starts=(1, 0), limits=("B", 3), strides=(2, 2)), ("B >= 1",)),
    "pad": ("f32[B] f32[T]", lambda x, y: ptir.PadOp(x, low=("T",), high=(1,), interior=(0,), pad_value=1.5), ()),
    "holes": ("f32[B]", lambda x: ptir.PadOp(x, low=(1,), high=(0,), interior=(2,), pad_value=1.5), ()),
    "tile": ("f32[B,2] f32[T]", lambda x, y: ptir.TileOp(x, repeats=("T", 3)), ()),
    "mean": ("f32[B,2]", lambda x: [ptir.ReduceOp(x, kind="max", axes=(0,), keepdims=True), dimension(x, 0)], ()),
    "iota": ("f32[B]", lambda x: [ptir.IotaOp(shape=("B+1", 2), dtype=d, axis=0) for d in ("si32", "f32", "f16", "si8")], ()),
    "reverse": ("f32[B,2]", lambda x: ptir.ReverseOp(x, axes=(0,)), ()),
    "rows at": ("f32[B,4] si32[2]", lambda x, i: ptir.DynamicSliceOp(x, i, sizes=(1, 2)), ("B >= 1",)),
    "window at": ("f32[P+T,2] si32[2] f32[T]", lambda x, i, t: ptir.DynamicSliceOp(x, i, sizes=("T", 1)), ()),
    "update": ("f32[P+T,2] f32[T,1] si32[2]", lambda *v: ptir.DynamicUpdateSliceOp(*v, sizes=("T", 1)), ()),
    "arguments": (
        "f32[B,3]",
        lambda x: [kind(x, axis=0, keepdims=False, output_dtype="si32") for kind in (ptir.ArgMaxOp, ptir.ArgMinOp)],
        ("B >= 1",),
    ),
    "windows": ("f32[B,4]", lambda x: ptir.ReduceWindowOp(x, kind="max", **WINDOW), ()),
    "product": ("f32[B,K] f32[K,T]", product, ()),
    "convolution": ("f32[B,H,3,2] f32[2,2,2,3]", lambda x, w: ptir.ConvolutionOp(x, w, **CONV), ()),
    "sort": ("f32[B,2]", lambda x: ptir.SortOp(x, axis=0, descending=False), ()),
    "top": ("f32[B]", lambda x: ptir.TopKOp(x, k=2, axis=0, largest=True, indices_dtype="si32").results, ("B >= 2",)),
    "take": ("f32[3,2] si32[T]", ptir.TakeOp, ()),
    "norm": ("f32[B,3] f32[3] f32[3]", lambda *v: ptir.LayerNormOp(*v, epsilon=1e-3, feature_axis=-1), ()),
    "choice": ("i1[] f32[B] f32[B]", cond, ("B >= 1",)),
    "tails": (
        "f32[T]",
        lambda x: ptir.SliceOp(x, starts=(0,), sizes=("(T-1) floordiv 2 + 1",)),
        ("T % 2 == 1", "T in 3..7", "T != 5"),
    ),
    "below 0": ("f32[B] f32[C]", lambda x, y: ptir.IotaOp(shape=("max((B-C) floordiv 2,0)",), dtype="si32", axis=0), ()),
}
CASES |= LOOPS_AND_INDICES
"""Types of arguments, body and declarations."""
_SORTED, _SLICES = "a sort of several operands along a dimension whose size is not known", "a gather of several slices"
NOT_READ = {
    **{"top": _SORTED, "top of a size": _SORTED, "take columns": _SLICES, "take both": _SLICES},
    "window arguments": "windows over a dimension whose size is not known",
}
"""Programs that our reader of StableHLO refuses."""


def module_of(name: str) -> ModuleOp:
    types, body, facts = CASES[name]
    return declaring(program(types, body), facts)


def declaring(module: ModuleOp, facts: Sequence[str]) -> ModuleOp:
    """The module, whose function declares facts."""
    if facts:
        next(functions(module)).attributes["mind.dims"] = ArrayAttr([StringAttr(text) for text in facts])
    return module


def calls(func: FuncOp) -> list[tuple[dict[str, int], list[np.ndarray]]]:
    """Arrays for all small sizes of the names, in dimensions that are sizes."""
    rng = np.random.default_rng(2)
    specs = [read_type(t) for t in func.function_type.inputs]
    names = sorted({name for spec in specs for d in spec.shape for name in names_in(d)})
    found: list[tuple[dict[str, int], list[np.ndarray]]] = []
    for given in itertools.product(range(6) if len(names) == 1 else range(4), repeat=len(names)):
        sizes = dict(zip(names, given, strict=True))
        shapes = [tuple([size_in(d, sizes) for d in spec.shape]) for spec in specs]
        arrays = [rng.normal(size=shape) * 3 for shape in shapes if all(isinstance(n, int) and n >= 0 for n in shape)]
        typed = [np.abs(a).astype(array_dtype(s.dtype.name)) for a, s in zip(arrays, specs, strict=False)]
        if len(typed) == len(specs):
            found.append((sizes, [a % 2 if a.dtype == np.int32 else a for a in typed]))
    return found


def results(compiled: Any, arrays: list[np.ndarray]) -> list[np.ndarray] | str:
    """What a call gives, or the code of its error."""
    try:
        found = compiled(*arrays)
    except MindError as e:
        return e.code
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def same(found: list[np.ndarray] | str, wanted: list[np.ndarray] | str, where: str) -> None:
    if isinstance(wanted, str):
        assert isinstance(found, str), where
        return
    assert not isinstance(found, str), (where, found)
    for x, y in zip(found, wanted, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape), where
        np.testing.assert_allclose(x.astype(np.float64), y.astype(np.float64), rtol=1e-5, atol=1e-5, err_msg=where)


def test_a_program_has_each_op_that_may_have_open_dimensions() -> None:
    seen: set[type[PtirOp]] = {type(op) for name in CASES for op in module_of(name).walk() if isinstance(op, PtirOp)}
    seen |= {ptir.RngUniformOp, ptir.RngNormalOp, ptir.ConstantOp, ptir.FusionOp}
    assert set(CONVERTED) - set(ELEMENTWISE) <= seen
    assert set(ELEMENTWISE) & seen
    refused = [program(types, body) for types, body, _ in REFUSED.values()]
    assert set(LIMITS) <= {type(op) for module in refused for op in module.walk()}


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_is_read_back(name: str) -> None:
    """All small sizes: the same results, and calls that the program refuses are refused."""
    module = module_of(name)
    func = next(functions(module))
    text = stablehlo_program(func, OPEN).text
    assert stablehlo_program(func, OPEN).text == text
    if name in NOT_READ:
        with pytest.raises(MindError, match=NOT_READ[name]):
            read_stablehlo(text, name)
        return
    for written in (text, stablehlo_program(func, ExportOptions(dynamic=True, bounds=True)).text):
        first, second = compile(module), compile(read_stablehlo(written, name))
        for sizes, arrays in calls(func):
            same(results(second, arrays), results(first, arrays), f"{name} {sizes}")


REFUSED: dict[str, tuple[str, Body, str]] = {
    "sizes that may differ": ("f32[B] f32[T]", ptir.AddOp, "declare facts in mind.dims that exclude this"),
    "a slice that may not fit": ("f32[B]", lambda x: ptir.SliceOp(x, starts=("B-2",), sizes=(2,)), "declare facts in mind.dims"),
    "no name": ("f32[?]", ptir.TanhOp, "no argument gives its size"),
    "rows of an empty table": ("f32[V,2] si32[3]", ptir.TakeOp, r"may be 0: declare facts in mind\.dims"),
    "elements of an empty row": ("f32[2,V] si32[2,3]", lambda x, i: ptir.GatherOp(x, i, axis=1), "may be 0: declare facts"),
    "scans that may differ": ("f32[2] f32[B,2] f32[T,2]", scan, "declare facts in mind.dims that exclude this"),
    "patches": ("f32[2,H,5,2]", lambda x: ptir.ExtractPatchesOp(x, **PATCHES), "images of dynamic height or width"),
    "no elements of 8 bits": ("fp8_e4m3[B]", lambda x: ptir.ReduceOp(x, kind="max", axes=(0,), keepdims=False), "on dynamic"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_form_is_refused(name: str) -> None:
    types, body, why = REFUSED[name]
    module = program(types, body)
    before = str(module)
    with pytest.raises(MindError, match=why) as found:
        stablehlo_program(next(functions(module)), OPEN)
    assert found.value.code == "E8008"
    with pytest.raises(MindError, match=why):
        ConvertPtirToStablehloPass().apply(Context(), module)
    assert str(module) == before


def test_a_result_of_another_size_than_the_rule_says_is_refused() -> None:
    module = parse("""builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%x: tensor<?xf32, "B">, %y: tensor<?xf32, "C">) -> tensor<?xf32, "C"> {
        %0 = ptir.concat %x, %x axis = 0 : (tensor<?xf32, "B">, tensor<?xf32, "B">) -> tensor<?xf32, "C">
        func.return %0 : tensor<?xf32, "C">
      }
    }""")
    with pytest.raises(MindError, match=r"declare facts in mind\.dims that exclude this") as found:
        stablehlo_program(next(functions(module)), OPEN)
    assert found.value.code == "E8008"


def test_a_declaration_that_divides_by_names_is_refused() -> None:
    module = declaring(program("f32[B,T]", ptir.TanhOp), ["B*T floordiv T == B"])
    with pytest.raises(MindError, match=r"declaration 'B\*T floordiv T == B' is not allowed: a quotient by names") as found:
        stablehlo_program(next(functions(module)), OPEN)
    assert found.value.code == "E8008"


def test_programs_of_static_shapes_have_no_assertions() -> None:
    static = stablehlo_program(next(functions(program("f32[2]", ptir.TanhOp))), OPEN).text
    assert static == stablehlo_program(next(functions(program("f32[2]", ptir.TanhOp))), ExportOptions()).text
    assert "polymorphism" not in static
    assert "custom_call" not in static


DECLARED = ("T in 1..64", "T % 8 == 0", "B != 1", "B+T <= 100", "N == B*T")


def test_names_and_declarations_are_read_back() -> None:
    module = declaring(program("f32[B,T] f32[N]", lambda x, y: [ptir.TanhOp(x), y]), DECLARED)
    for bounds in (False, True):
        text = stablehlo_program(next(functions(module)), ExportOptions(dynamic=True, bounds=bounds)).text
        read = next(functions(read_stablehlo(text, "x")))
        assert [str(read_type(t)) for t in read.function_type.inputs] == ["f32[B, T]", "f32[N]"]
        facts = {fact.text for fact in declarations_of(read)}
        assert facts >= {"T <= 64", "T >= 8", "T % 8 == 0", "B != 1", "B+T <= 100"}
        assert facts & {"N == B*T", "B*T == N"}


def test_bounds_are_written_where_they_are_asked_for() -> None:
    module = declaring(program("f32[B,4,T] f32[B+T]", lambda x, y: [ptir.TanhOp(x), y]), ["T in 1..64"])
    for bounds in (False, True):
        text = stablehlo_program(next(functions(module)), ExportOptions(dynamic=True, bounds=bounds)).text
        assert ("%0: tensor<?x4x?xf32, #stablehlo.bounds<?, ?, 64>>" in text) == bounds
        assert '"B' not in text


@pytest.mark.parametrize(("n", "message"), [(6, "Expected T % 4 == 0, found 2 and 0"), (12, None), (80, "found 80 and 64")])
def test_what_is_declared_is_checked_when_sizes_are_refined(n: int, message: str | None) -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    module = declaring(program("f32[T]", ptir.TanhOp), ["T % 4 == 0", "T <= 64"])
    func = next(functions(module))
    text = stablehlo_program(func, OPEN).text
    if message is None:
        assert "custom_call" not in refined(text, func, [np.zeros(n, np.float32)])
        return
    with pytest.raises(Exception, match=re.escape(message)):
        refined(text, func, [np.zeros(n, np.float32)])


def test_an_argument_of_another_size_is_refused_when_sizes_are_refined() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    func = next(functions(program("f32[P] f32[T] f32[P+T]", lambda *v: [ptir.TanhOp(x) for x in v])))
    text = stablehlo_program(func, OPEN).text
    refined(text, func, [np.zeros(n, np.float32) for n in (2, 3, 5)])
    with pytest.raises(Exception, match=re.escape("Dimension 0 of argument 2 has size 4, expected P+T = 5")):
        refined(text, func, [np.zeros(n, np.float32) for n in (2, 3, 4)])


def refined(text: str, func: FuncOp, arrays: list[np.ndarray], *, seeded: bool = False, checked: bool = False) -> str:
    """
    A program for the sizes of arrays, by the pass that JAX runs; its assertions are checked there.

    `seeded` says that it takes a seed, the last array; `checked` that it reports what is wrong.
    """
    from jax._src.interpreters.mlir import make_ir_context as context
    from jax.extend.mlir import refine_polymorphic_shapes
    from jaxlib.mlir import ir

    inner = text.replace('sym_name = "main"', 'sym_name = "open"').replace(
        'sym_visibility = "public"', 'sym_visibility = "private"'
    )
    specs = [*(read_type(t) for t in func.function_type.inputs), *([SEED] if seeded else [])]
    results = [*map(read_type, func.function_type.outputs), *([CHECK] if checked else [])]
    given = [stablehlo_type(s.dtype, a.shape) for s, a in zip(specs, arrays, strict=True)]
    opened = [plain(stablehlo_type(s.dtype, s.shape)) for s in specs]
    outs = [plain(stablehlo_type(s.dtype, s.shape)) for s in results]
    lines = [f"  %c{i} = stablehlo.convert %a{i} : ({g}) -> {o}" for i, (g, o) in enumerate(zip(given, opened, strict=True))]
    names = ", ".join(f"%c{i}" for i in range(len(given)))
    returned = ", ".join(f"%r#{i}" for i in range(len(outs))) if len(outs) > 1 else "%r"
    lines.append(
        f"  %r:{len(outs)} = func.call @open({names}) : ({', '.join(map(str, opened))}) -> ({', '.join(map(str, outs))})"
    )
    arguments = ", ".join(f"%a{i}: {g}" for i, g in enumerate(given))
    types = ", ".join(map(str, outs))
    outer = "\n".join(
        [f"func.func public @main({arguments}) -> ({types}) {{", *lines, f"  func.return {returned} : {types}", "}"]
    )
    body = inner[inner.index('"func.func"') : inner.rindex("})")]
    with context():
        found = refine_polymorphic_shapes(f"{outer}\n{body}".encode(), enable_shape_assertions=True, validate_static_shapes=True)
        return str(ir.Module.parse(found))


@pytest.mark.parametrize("name", CASES)
def test_xla_gives_the_same_once_sizes_are_refined(name: str) -> None:
    """All small sizes; calls that the program refuses are refused by the assertions."""
    pytest.importorskip("jax", reason="JAX is not installed")
    func = next(functions(module := module_of(name)))
    text, compiled = stablehlo_program(func, OPEN).text, compile(module)
    for sizes, arrays in calls(func):
        if not {0, 2, 3} >= set(sizes.values()):
            continue
        wanted = results(compiled, arrays)
        if isinstance(wanted, str):
            with pytest.raises(Exception, match="shape refinement failed"):
                refined(text, func, arrays)
            continue
        same(on_xla(refined(text, func, arrays), arrays, wanted), wanted, f"{name} {sizes}")


def test_random_numbers_of_an_open_size_have_the_same_bits() -> None:
    """Read back, and by XLA where it is installed: the seed is the last input."""
    func = next(functions(module := program("f32[B,3]", random_numbers)))
    text, seed = stablehlo_program(func, OPEN).text, 12345678901234567890
    words = np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32)
    compiled, read = compile(module), compile(read_stablehlo(text, "random"))
    for sizes, arrays in calls(func):
        wanted = [np.asarray(x) for x in compiled(*arrays, seed=seed)]
        same(results(read, [*arrays, words]), wanted, f"read {sizes}")
        if find_spec("jax") is not None:
            given = [*arrays, words]
            same(on_xla(refined(text, func, given, seeded=True), given, wanted), wanted, f"XLA {sizes}")


@pytest.mark.parametrize("name", CHECKED)
def test_checks_know_open_sizes(name: str) -> None:
    """The first index that is out of range is reported for the sizes of the call."""
    pytest.importorskip("jax", reason="JAX is not installed")
    func = next(functions(module := module_of(name)))
    text, compiled = stablehlo_program(func, ExportOptions(dynamic=True, checks=True)).text, compile(module)
    (_, arrays), *_ = [call for call in calls(func) if set(call[0].values()) == {3}]
    wanted = results(compiled, arrays)
    assert not isinstance(wanted, str)
    code = [*wanted, np.array(0, np.int32)]
    static = refined(text, func, arrays, checked=True)
    assert int(on_xla(static, arrays, code)[-1]) == 0
    for wrong in (-1, 3):
        given = [np.full_like(a, wrong) if a.dtype == np.int32 else a for a in arrays]
        assert results(compiled, given) == "E6001"
        assert int(on_xla(static, given, code)[-1]) == 1


def on_xla(static: str, arrays: list[np.ndarray], wanted: list[np.ndarray]) -> list[np.ndarray]:
    """The results of a program of static shapes, like those that are wanted."""
    import jax

    inputs, outputs = (tuple([TensorSpec(DTYPES[format_of(a.dtype).name], a.shape) for a in side]) for side in (arrays, wanted))
    program = StablehloProgram(static, inputs, outputs, False, None)
    with jax.enable_x64(True):
        return [np.asarray(x) for x in jax.jit(exported(program, "f", ("cpu",)).call)(*arrays)]
