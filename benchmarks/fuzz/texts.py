"""Mutated text of every form that is read, and passes over what is accepted."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from mind_dialect.errors import MindError
from mind_dialect.source_text import decode
from mind_dialect.verify import verify
from mind_lowering.launch.convert import ConvertPtirToLaunchPass
from mind_tools.frontends import parse
from mind_tools.roundtrip import check_roundtrip
from mind_tools.universe import multiverse, tool_dialects
from mind_translate.core_ir import print_core_ir
from mind_translate.ptir_json import print_ptir_json
from mind_translate.ptir_text import print_ptir_text
from ptir_programs import REGIONS, SAYABLE, row_module
from ptir_texts import BASE, DISPLAY, SNIPPET
from shape_corpus import corpus

from .judge import ROOT, Difference, Kind
from .mutations import mutated

LONGEST_SEED = 4000
"""Longer texts are no seeds: most changes of them are alike."""


@cache
def mlir_seeds(*dialects: str) -> tuple[str, ...]:
    """Chunks of the FileCheck tests and texts of the tests' tables that hold ops of these dialects."""
    files = sorted((ROOT / "tests" / "filecheck").rglob("*.mlir"))
    chunks = [REGIONS, *(chunk for f in files for chunk in f.read_text(encoding="utf-8").split("// -----"))]
    if "shape" in dialects:
        rows = corpus().split("func.func")
        chunks += [f"func.func{text}" for text in rows[1 :: max(1, len(rows) // 150)]]
    else:
        chunks += [str(row_module(row)) for row in SAYABLE]
    lines = ("\n".join(line for line in chunk.splitlines() if not line.lstrip().startswith("//")) for chunk in chunks)
    return tuple(text for text in lines if any(f"{d}." in text for d in dialects) and 20 < len(text) < LONGEST_SEED)


@cache
def readable(*dialects: str) -> tuple[ModuleOp, ...]:
    """The modules of those seeds that verify."""
    return tuple(module for text in mlir_seeds(*dialects) if (module := _verified(text)) is not None)


def _verified(text: str) -> ModuleOp | None:
    try:
        module = parse(text, lenient=True)
        verify(module)
    except Exception:  # seeds are right and wrong texts; this asks which
        return None
    return module


def printed(module: ModuleOp, *, generic: bool) -> str:
    """The text of a module in MLIR's generic or pretty form."""
    stream = io.StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def _written(write: Callable[[ModuleOp], str], modules: Sequence[ModuleOp]) -> Iterator[str]:
    """The texts of the modules that a form can hold."""
    for module in modules:
        try:
            text = write(module)
        except MindError:
            continue
        if len(text) < LONGEST_SEED:
            yield text


def check_same_text(module: ModuleOp, write: Callable[[ModuleOp], str], frontend: str) -> None:
    """Raise `Difference` unless a form, read and written again, stays as it is; what it cannot hold is refused by a code."""
    once = write(module)
    again = parse(once, frontend, "<printed>")
    verify(again)
    if (twice := write(parse(write(again), frontend, "<printed>"))) != write(again):
        raise Difference(f"{frontend} changes when it is read and written\n{once}\n{twice}")


class Text(Kind):
    """Mutated text of one form. What verifies is printed and read again."""

    share = 40

    def __init__(self, name: str, frontend: str, seeds: Callable[[], Sequence[str]], words: Sequence[str]):
        self.name, self.frontend, self._seeds, self._words = name, frontend, seeds, words

    def make(self, rng: Random) -> bytes:
        seeds = self._seeds()
        text = mutated(rng, rng.choice(seeds), seeds, self._words)
        data = text.encode("utf-8", "surrogatepass")
        if rng.random() < 0.02:
            i = rng.randrange(len(data) + 1)
            data = data[:i] + bytes([rng.randrange(128, 256)]) + data[i:]
        return data

    def run(self, data: bytes) -> None:
        module = parse(decode(data, "input"), self.frontend, "input", lenient=self.frontend == "mlir")
        verify(module)
        match self.frontend:
            case "core-ir":
                check_same_text(module, print_core_ir, self.frontend)
            case "ptir-json":
                check_same_text(module, print_ptir_json, self.frontend)
            case "ptir-text":
                check_same_text(module, print_ptir_text, self.frontend)
            case _:
                check_roundtrip(module, all_dialects())


class JsonText(Text):
    """PTIR's JSON with parts of the tree exchanged, left out and replaced, as well as mutated text."""

    def make(self, rng: Random) -> bytes:
        if rng.random() < 0.4:
            return super().make(rng)
        texts = self._seeds()
        tree, other = (json.loads(rng.choice(texts)) for _ in range(2))
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            path = _walk(rng, tree)
            if not path:
                continue
            part = _at(tree, path[:-1])
            if rng.random() < 0.1:
                del part[path[-1]]
                continue
            old = part[path[-1]]
            found = [_at(t, _walk(rng, t)) for t in (tree, other) for _ in range(8)] + JSON_WORDS
            alike = [x for x in found if type(x) is type(old) and x != old]
            part[path[-1]] = copy.deepcopy(rng.choice(alike if alike and rng.random() < 0.75 else found))
        return json.dumps(tree).encode()


JSON_WORDS: list[Any] = [
    *(None, True, -1, 0, 1, 2, 3, 2**31, 2**63, 2**64, 10**30, 0.5, -0.0, 1e308, "", "x", "?", "Sum", "F32", "NaN", "\ud800"),
    *([], {}, [[]], [0, 0], {"Static": -1}, {"Dynamic": "?"}, {"Dynamic": ""}, {"Value": 4}, {"Tuple": []}, {"kind": "I64"}),
    *({"Float": "NaN"}, {"TupleElement": {"tuple": 9, "index": 1}}, {"Static": 2**62}, "Select", "Dot", "Neg"),
]


def _walk(rng: Random, tree: Any) -> tuple[Any, ...]:
    """Return the path to some part of a tree."""
    path: tuple[Any, ...] = ()
    while isinstance(tree, dict | list) and tree and rng.random() < 0.93:
        path = (*path, rng.choice(sorted(tree)) if isinstance(tree, dict) else rng.randrange(len(tree)))
        tree = tree[path[-1]]
    return path


def _at(tree: Any, path: Sequence[Any]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def all_dialects() -> Context:
    """A context that knows what the tools know."""
    ctx = Context()
    for dialect, factory in tool_dialects().items():
        ctx.register_dialect(dialect, factory)
    return ctx


@cache
def our_passes() -> dict[str, type[ModulePass]]:
    """Our passes that need no option, by name."""
    loaded = {name: load() for name, load in multiverse().all_passes.items()}
    return {name: p for name, p in loaded.items() if p.__module__.startswith("mind_")}


class Passes(Kind):
    """Mutated modules that verify, through one to three of our passes: what comes out must verify and be readable."""

    name, share = "passes", 20

    def make(self, rng: Random) -> bytes:
        seeds = mlir_seeds(*rng.choice((("mind",), ("ptir",), ("ptir",), ("shape",))))
        text = rng.choice(seeds)
        text = mutated(rng, text, seeds, PTIR_WORDS) if rng.random() < 0.7 else text
        names = rng.choices(sorted(our_passes()), k=rng.choice((1, 1, 2, 3)))
        return f"// {' '.join(names)}\n{text}".encode("utf-8", "surrogatepass")

    def run(self, data: bytes) -> None:
        text = decode(data, "input")
        names = text.partition("\n")[0].removeprefix("//").split()
        module = parse(text, name="input", lenient=True)
        verify(module)
        ctx = all_dialects()
        for name in names:
            if name in our_passes():
                our_passes()[name]().apply(ctx, module)
                _check_result(name, module, ctx)


def _check_result(name: str, module: ModuleOp, ctx: Context) -> None:
    """Raise `Difference` unless the module that a pass leaves verifies and survives being printed."""
    try:
        verify(module)
        check_roundtrip(module, ctx)
    except Exception as e:
        code = e.code if isinstance(e, MindError) else type(e).__name__
        raise Difference(f"{name} leaves a module that is refused: {code}\n{e}") from e


PTIR_WORDS = (
    "ptir.add ptir.reduce ptir.cond ptir.while ptir.scan ptir.constant ptir.yield tensor<f32> "
    "tensor<2x3xf32> tensor<?xf32> f64 si4 "
    "tensor<0x3xf32> tensor<si32> tensor<i1> bf16 f8E4M3FN si64 ui8 complex<f32> axes keepdims = [0] "
    "[-1] [0,1] true false fill dense<0> "
    '#ptir.literal "B" ptir.dims encoding sum max %0 %arg0 @f ^bb0 func.return func.func -> loc("x") : () {} unit'
).split()
MIND_WORDS = (
    "mind.add mind.sum mind.constant mind.reshape mind.conv2d tensor<f32> tensor<2x3xf32> i32 i64 f64 "
    "axes = [0] [-1] keepdims fill "
    'dense<1.0> mind.name mind.profile "core-v1.1" "core-v1" func.func func.return @f %0 %x <> {} : loc(unknown) #mind ! unit'
).split()
CORE_WORDS = (
    "Input Const Add Sub Mul Div Sum Mean Reshape Transpose ExpandDims Squeeze Index Slice Gather Dot "
    "MatMul Conv2d Relu Neg Exp Log "
    "Output tensor<f32[2,3]> tensor<f32[]> i32 i64 f64 {name=x} axes=[0] axes=[-1] keepdims=true %0 %1 = "
    "( ) shape=[2] module func fn "
    "Valid Same core-v1.1 inputs outputs"
).split()
SHAPE_WORDS = (
    "!shape.shape !shape.size !shape.witness !shape.value_shape index i1 tensor<?xindex> tensor<2xindex> "
    "tensor<0xindex> [1,2] [] "
    "shape.broadcast shape.add shape.reduce shape.assuming shape.assuming_yield shape.yield "
    "shape.const_shape shape.lib shape.func "
    "shape.function_library shape.cstr_eq shape.concat shape.const_size tensor<*xf32> memref<?xf32> "
    "error = %0 %arg0 @f : -> , mapping"
).split()
LAUNCH_WORDS = (
    "launch.alloc launch.view launch.kernel launch.copy launch.at launch.for launch.yield arena input output constant kept host "
    "at align donated over offset inplace [[0,0]] [[0,1]] [] 0 1 -1 64 schedule cost memref<4xf32> memref<0x3xf32> memref<?xf32> "
    "memref<4xf32,strided<[0]>> memref<2x3xf32,strided<[1,2]>> memref<i1> index %0 %1 %2 @f ^bb0 -> : () literal fill 1.0"
).split()
JSON_TOKENS = (
    '"op" "Static" "Dynamic" "Tensor" "Tuple" "Value" null true false "F32" "Si32" "functions" "regions" {} [] : ,'.split()
)
DISPLAY_TOKENS = (
    "program func region params: body: results: hints: @main %0 %1 %2 tensor<F32 x 2x3> tensor<F32 x ?B> "
    "tensor<I1 x []> tuple< > "
    "Reduce( ReduceSpec { } Select Cond RegionId(0) RegionId(9) Some(F32) None axes: axes[ ] "
    "keepdims[true] f32 return -> : = true"
).split()


def kinds() -> list[Kind]:
    """The kinds of text."""
    ours = ("mind", "ptir")

    def core() -> Sequence[str]:
        files = sorted((ROOT / "tests" / "filecheck").rglob("*.coreir"))
        chunks = [c for f in files for c in f.read_text(encoding="utf-8").split("// -----")]
        return [*chunks, *_written(print_core_ir, readable("mind"))]

    def json_texts() -> Sequence[str]:
        return [*(json.dumps(BASE),) * 10, *_written(print_ptir_json, readable("ptir"))]

    def display() -> Sequence[str]:
        return [DISPLAY, *(SNIPPET,) * 20, *_written(print_ptir_text, readable("ptir"))]

    def launches() -> Sequence[str]:
        made = [row_module(row) for row in SAYABLE[::16]]
        for module in made:
            with suppress(MindError):  # what runs on the host, or without sizes
                ConvertPtirToLaunchPass().apply(Context(), module)
        return [*mlir_seeds("launch"), *(text for m in made if 20 < len(text := str(m)) < LONGEST_SEED)]

    return [
        Text("Core IR text", "core-ir", cache(core), CORE_WORDS),
        Text("pretty MLIR", "mlir", lambda: mlir_seeds(*ours), MIND_WORDS + PTIR_WORDS),
        Text("generic MLIR", "mlir", cache(lambda: [printed(m, generic=True) for m in readable(*ours)]), MIND_WORDS + PTIR_WORDS),
        JsonText("PTIR JSON", "ptir-json", cache(json_texts), JSON_TOKENS),
        Text("PTIR text", "ptir-text", cache(display), DISPLAY_TOKENS),
        Text("launch", "mlir", cache(launches), LAUNCH_WORDS),
        Text("shape", "mlir", lambda: mlir_seeds("shape"), SHAPE_WORDS),
        Passes(),
    ]
