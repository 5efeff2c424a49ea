"""Operands of kernels that are one op: functions of C++ from indices to an element, computed where it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Block, SSAValue

from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import PtirDType

from .body import Body
from .indexing import check_elements
from .kernel import MOST_BLOCKS, THREADS, CudaKernel, KernelWriter, indented
from .places import Chunk, Dims, IndexNames, Place, cut, place, spec
from .scalars import cast, register
from .scope import KernelSource, Scope
from .unsupported import Unsupported


def lone_body(op: PtirOp, block: Block) -> Body:
    """The body of a fusion whose result is that of `op`, of elements that can be computed; Unsupported for another."""
    body = Body(block, given=(type(op),))
    if body.results != [op.results[0]] or body.reductions or sum(isinstance(o, type(op)) for o in body.ops) > 1:
        raise Unsupported(f"{op.OPCODE} with something after it")
    check_elements(body, op.operands)
    return body


def function(
    source: KernelSource, name: str, value: SSAValue, at: Place, parameters: str, dtype: PtirDType, head: Sequence[str] = ()
) -> list[str]:
    """
    The function `name` that gives an element of a value as `dtype`, at a place in terms of the parameters.

    `head` are statements that the place needs.
    """
    scope = scratch(source)
    (found,) = scope.values([(value, at)])
    lines = [*head, *scope.lines, f"return {cast(found, spec(value)[0], dtype)};"]
    return [f"auto {name} = [&]({parameters}) -> {register(dtype)} {{", *indented(lines), "};"]


def for_each(
    writer: KernelWriter, index: str, count: int, iteration: Sequence[str], before: Sequence[str] = (), into: int | None = None
) -> CudaKernel:
    """The kernel that does something for each index below a count, a thread for each of them, after what comes `before`."""
    first, step = f"I(blockIdx.x) * {THREADS} + threadIdx.x", f"I(gridDim.x) * {THREADS}"
    loop = [f"for (I {index} = {first}; {index} < {count}; {index} += {step}) {{", *indented(iteration), "}"]
    blocks = min(-(-count // THREADS), MOST_BLOCKS)
    return writer.kernel([*before, *loop], writer.launch(blocks, THREADS, into=into))


def scratch(source: KernelSource) -> Scope:
    """Return a builder that names index expressions, with the statements that give them their values."""
    scope = Scope(source)
    scope.whole = None
    return scope


def mixed(names: IndexNames, parts: Sequence[tuple[Sequence[int], Dims, str]]) -> Place:
    """The place in a shape of which each part of the axes has an index of its own over their extents; a chunk for each axis."""
    found: list[tuple[int, Chunk]] = []
    for axes, dims, index in parts:
        chunks = cut(place((dims, index)), range(len(dims)), names)
        found += zip(axes, chunks, strict=True)
    return place(*(chunk for _, chunk in sorted(found, key=lambda f: f[0])))


def flat(at: Place, axes: Sequence[int], extents: Dims) -> str:
    """The row-major number of an element of a shape, given an index along each of some axes."""
    steps = {a: prod(extents[a + 1 :]) for a in axes}
    terms = [c.number if steps[a] == 1 else f"{c.number} * {steps[a]}" for a, c in zip(axes, at, strict=True) if c.number != "0"]
    return " + ".join(terms) or "0"
