"""Random verified programs on all executors: NaN, infinities, denormals and extremes as arguments, sizes 0 and 1."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp

import mind_runtime
import ptir_random_programs
import ptir_smooth_programs
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES, TensorSpec, read_type
from mind_dialect.ptir.types import Kind as NumberKind
from mind_dialect.verify import verify
from mind_lowering.core_to_ptir import ConvertMindToPtirPass
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_tools.frontends import parse
from ptir_evaluator import function_of
from ptir_oracle import samples
from random_programs import modules
from row_programs import RowMaker

from .agreement import disagreement, expectation
from .judge import Difference, Kind
from .texts import all_dialects, printed

SHAPES = ((0, 3), (1,), (0,), (1, 1), (3, 0, 2), (2, 1, 3), (), (1, 5), (7,))
DTYPE_NAMES = ("f32", "f32", "f64", "f16", "bf16", "si32", "ui8", "si64", "si16", "ui64")
BIGGEST = 20_000
"""Elements of a value of a program that is run."""


class EdgeMaker(ptir_random_programs.Maker):
    """The same mix of ops on other shapes."""

    def module(self, size: int) -> ModuleOp:
        types = [f"{self.dtype}[{','.join(map(str, s))}]" for s in self.pick.choices(SHAPES, k=3)]
        return ptir_random_programs.program(f"{' '.join(types)} i1[]", lambda *arguments: self.body(list(arguments), size))


def core_module(number: int) -> ModuleOp:
    """A random module of Core IR, of the generator that property tests draw from."""
    found: list[ModuleOp] = []
    quiet = settings(
        max_examples=4, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )

    @hypothesis_seed(number)
    @quiet
    @given(modules())
    def draw(module: ModuleOp) -> None:
        found.append(module)

    draw()
    return found[-1]


def generated(rng: Random) -> ModuleOp:
    """A random verified module."""
    number, dtype = rng.randrange(1 << 30), DTYPES[rng.choice(DTYPE_NAMES)]
    match rng.choice(("mixed", "edges", "edges", "rows", "smooth", "core")):
        case "mixed":
            return ptir_random_programs.Maker(number, dtype).module(rng.randint(3, 20))
        case "edges":
            return EdgeMaker(number, dtype).module(rng.randint(3, 16))
        case "rows":
            names = ("f32", "f64", "bf16", "si32", "ui8")
            return RowMaker(number, DTYPES[rng.choice(names)]).module()
        case "smooth":
            return ptir_smooth_programs.Maker(Random(number)).module(rng.randint(2, 6), 2)
        case _:
            return core_module(number)


def adversarial(func: FuncOp, number: int) -> list[Any]:
    """Arguments of special values for every input; a dimension that has a name gets a size of 0 to 3."""
    rng = np.random.default_rng(number)
    sizes: dict[str, int] = {}
    arrays: list[Any] = []
    for i, argument in enumerate(func.body.block.args):
        dtype, dims = read_type(argument.type)
        shape = tuple(sizes.setdefault(d, int(rng.integers(0, 4))) if isinstance(d, str) else d for d in dims)
        count = int(np.prod(shape))
        pool = samples(dtype, 24, seed=number + i)
        mode = rng.integers(4)
        if mode == 0 and dtype.kind is NumberKind.FLOAT:
            odd = pool[~np.isfinite(pool.astype(np.float64))]
            pool = np.concatenate([odd, samples(dtype, 24, special=False, seed=number)])
        elif mode == 1:
            pool = samples(dtype, 24, special=False, seed=number + i)
        chosen = rng.integers(0, 3 if _is_trip_count(argument) else 2, count)
        if not _is_index(argument) and not _is_trip_count(argument):
            chosen = pool[rng.integers(0, len(pool), count)]
        arrays.append(np.asarray(chosen).astype(array_dtype(dtype.name)).reshape(shape))
    return arrays


def _is_index(argument: Any) -> bool:
    """Whether a value is where to read or write: then most numbers would only be out of bounds."""
    names = ("ptir.gather", "ptir.take", "ptir.dynamic_slice", "ptir.dynamic_update_slice", "ptir.scatter_add")
    return any(use.operation.name in names and use.index > 0 for use in argument.uses)


def _is_trip_count(argument: Any) -> bool:
    """Whether a loop could run for as long as a value says."""
    is_integer = read_type(argument.type) in (TensorSpec(DTYPES["si32"], ()), TensorSpec(DTYPES["si64"], ()))
    return is_integer and any(op.name == "ptir.while" for op in walk(argument.owner.parent_op()))


class Programs(Kind):
    """A program as text, its first line a number that its arguments depend on; every executor must say what the kernels say."""

    name, share = "programs", 2

    def make(self, rng: Random) -> bytes:
        while True:
            number = rng.randrange(1 << 30)
            module = generated(rng)
            func = function_of(module)
            if func.function_type.outputs.data and all(_elements(v.type) < BIGGEST for op in walk(module) for v in op.results):
                return f"// {number}\n{printed(module, generic=False)}".encode()

    def run(self, data: bytes) -> None:
        text = data.decode()
        number = int(re.match(r"// (\d+)\n", text)[1])  # type: ignore[index]
        module = parse(text)
        verify(module)
        lowered = module.clone()
        ConvertMindToPtirPass().apply(all_dialects(), lowered)
        func = function_of(lowered)
        arrays = adversarial(func, number)
        expected = expectation(func, arrays, number)
        for target in executors(number):
            found = outcome(module, func, target, arrays)
            if (issue := disagreement(found, expected)) is not None:
                raise Difference(f"{target} and the kernels: {issue}\n{found}\n{expected}")
        if isinstance(expected, MindError):
            raise expected

    def size(self, data: bytes) -> int:
        """Return how many ops there are; of as many, the fewer values the better."""
        return 1000 * data.count(b" = ") + data.count(b"%")

    def smaller(self, data: bytes) -> Iterator[bytes]:
        """Yield the program with one result, or with an op's results as arguments."""
        head, _, text = data.decode().partition("\n")
        for module in _simpler(text):
            with_less = printed(module, generic=False)
            yield f"{head}\n{with_less}".encode()


def executors(number: int) -> Sequence[str]:
    """The executors that a program runs on; the emulated CuPy, which is slow, for some."""
    native = ("native",) if importlib.util.find_spec("llvmlite") else ()
    return ("numpy", *native, *(("cupy",) if number % 4 == 0 else ()))


def outcome(module: ModuleOp, func: FuncOp, target: str, arrays: Sequence[Any]) -> tuple[Any, ...] | MindError:
    """What an executor gives: results or a coded error."""
    try:
        if target == "cupy":
            from numpy_launches import on_numpy

            run: Any = on_numpy(module.clone())
        else:
            run = mind_runtime.compile(module, func.sym_name.data, target=target)
        results = run(*[np.array(x) for x in arrays])
    except MindError as e:
        return e
    return tuple(np.asarray(r) for r in results) if isinstance(results, tuple) else (np.asarray(results),)


def _elements(type: Any) -> int:
    return int(np.prod([max(d, 0) for d in type.get_shape()])) if isinstance(type, TensorType) else 0


def _simpler(text: str) -> Iterator[ModuleOp]:
    """Yield modules that return a value of one op alone, the first op first, or take an op's values as arguments."""
    count = len(list(function_of(parse(text)).body.block.ops)) - 1
    for as_argument in (False, True):
        for i in range(count):
            module = parse(text)
            func = function_of(module)
            op = list(func.body.block.ops)[i]
            end = func.body.block.last_op
            assert end is not None
            if as_argument:
                for result in op.results:
                    result.replace_all_uses_with(func.body.block.insert_arg(result.type, len(func.body.block.args)))
            else:
                end.operands = op.results[:1]
            yield _cleaned(module, func)


def _cleaned(module: ModuleOp, func: FuncOp) -> ModuleOp:
    """Drop what nothing uses, and say what the function takes and gives now."""
    block = func.body.block
    for op in reversed(list(block.ops)):
        if op is not block.last_op and not any(r.uses.get_length() for r in op.results):
            op.detach()
            op.erase()
    for argument in reversed(list(block.args)):
        if not argument.uses.get_length():
            block.erase_arg(argument)
    end = block.last_op
    assert end is not None
    func.function_type = FunctionType.from_lists([a.type for a in block.args], [v.type for v in end.operands])
    return module


def kinds() -> list[Kind]:
    """The programs."""
    return [Programs()]
