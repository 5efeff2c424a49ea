"""
Running sums: a block per row where the sums are along the last axis, a thread per column otherwise.

A block takes 1,024 elements at a time; what came before is carried on. The order of additions is always the same.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Block

from mind_dialect.ptir import CumulativeSumOp
from mind_dialect.ptir.legal import default_accumulator

from .body import spec
from .element import function, lone_body
from .kernel import MOST_BLOCKS, Kernel, Writer, indented
from .places import place
from .scalars import STORED, cast, literal, register
from .unsupported import Unsupported

_BLOCK, _EACH = 256, 4


def cumulative_sum_kernel(op: CumulativeSumOp, block: Block) -> Kernel:
    """The kernel of running sums."""
    body = lone_body(op, block)
    values, (dtype, shape) = op.values(), spec(op.x)
    axis: int = values["axis"] % len(shape)
    outer, count, inner = shape[:axis], shape[axis], shape[axis + 1 :]
    if 0 in shape:
        raise Unsupported("sums of nothing")
    writer = Writer(body)
    wide = default_accumulator(dtype)
    at = place((outer, "o"), ((count,), "c"), (inner, "i"))
    lines = function(writer.source, "element", op.x, at, "I o, I c, I i", wide)
    type, zero, width = register(wide), literal(wide, 0), prod(inner)
    turned = f"{count - 1} - n" if values["reverse"] else "n"
    kept = "before" if values["exclusive"] else "after"
    stored = f"mind::Stored<{STORED[dtype]}>::store({cast(kept, wide, dtype)})"
    inside = [
        f"const {type} after = mind::add(before, x[j]);",
        f"if (n < {count}) b0[o * {count} + c] = {stored};",
        "before = after;",
    ]
    if width == 1:
        rows = prod(outer)
        each = "for (int j = 0; j < 4; ++j) {"
        place_of = ["const I n = base + threadIdx.x * 4 + j;", f"const I c = n < {count} ? {turned} : I(0);"]
        turn = [
            f"{type} x[{_EACH}], sum = {zero}, all;",
            *(
                each,
                *indented([*place_of, f"x[j] = n < {count} ? element(o, c, I(0)) : {zero};", "sum = mind::add(sum, x[j]);"]),
                "}",
            ),
            f"{type} before = mind::add(carry, mind::scan(sum, all));",
            *(each, *indented([*place_of, *inside]), "}"),
            "carry = mind::add(carry, all);",
        ]
        chunks = [f"for (I base = 0; base < {count}; base += {_BLOCK * _EACH}) {{", *indented(turn), "}"]
        loop = [f"for (I o = blockIdx.x; o < {rows}; o += gridDim.x) {{", *indented([f"{type} carry = {zero};", *chunks]), "}"]
        return writer.kernel([*lines, *loop], writer.launch(min(rows, MOST_BLOCKS), _BLOCK))
    columns = prod(outer) * width
    inside[1] = f"b0[(o * {count} + c) * {width} + i] = {stored};"
    turn = [f"const I c = {turned};", f"const {type} x[1] = {{element(o, c, i)}};", "const int j = 0;", *inside]
    steps = [f"for (I n = 0; n < {count}; ++n) {{", *indented(turn), "}"]
    head = [f"const I o = q / {width}, i = q % {width};", f"{type} before = {zero};"]
    first = f"I(blockIdx.x) * {_BLOCK} + threadIdx.x"
    loop = [f"for (I q = {first}; q < {columns}; q += I(gridDim.x) * {_BLOCK}) {{", *indented([*head, *steps]), "}"]
    return writer.kernel([*lines, *loop], writer.launch(min(-(-columns // _BLOCK), MOST_BLOCKS), _BLOCK))
