"""
Small functions over the shape dialect: every op on many kinds of operand, chosen by rows, and by hand what must not fold.

Each is what stock MLIR verifies. Where MLIR's own canonicalisation stops with an error or a crash, or gives what is wrong, there
is no row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

ARGUMENTS = {
    "z": "!shape.size",
    "y": "!shape.size",
    "i": "index",
    "j": "index",
    "s": "!shape.shape",
    "t": "!shape.shape",
    "u": "!shape.shape",
    "e": "tensor<?xindex>",
    "f": "tensor<2xindex>",
    "g": "tensor<0xindex>",
    "h": "tensor<3xindex>",
    "p": "i1",
    "w": "!shape.witness",
    "v": "!shape.witness",
    "x": "tensor<2x3xf32>",
    "k": "tensor<?x4xf32>",
    "n": "tensor<1x?xf32>",
    "o": "tensor<*xf32>",
    "q": "tensor<f32>",
    "m": "memref<2x?xf32>",
    "a": "!shape.value_shape",
    "b": "tensor<2xi32>",
    "c": "tensor<?x1xf32>",
    "d": "vector<4xf32>",
}
SHAPE, SIZE, INDEX = "!shape.shape", "!shape.size", "index"
Operand = tuple[str, str, str]
"""Lines that make it, its name, its type."""


def _constant(name: str, extents: str, type: str) -> Operand:
    return f"%{name} = shape.const_shape {extents} : {type}\n", f"%{name}", type


SIZES: list[Operand] = [
    ("", "%z", SIZE),
    ("", "%i", INDEX),
    ("%z0 = shape.const_size 0\n", "%z0", SIZE),
    ("%z3 = shape.const_size 3\n", "%z3", SIZE),
    ("%i0 = arith.constant 0 : index\n", "%i0", INDEX),
    ("%i2 = arith.constant 2 : index\n", "%i2", INDEX),
    ("%im = arith.constant -7 : index\n", "%im", INDEX),
]
SHAPES: list[Operand] = [
    ("", "%s", SHAPE),
    ("", "%e", "tensor<?xindex>"),
    ("", "%f", "tensor<2xindex>"),
    ("", "%g", "tensor<0xindex>"),
    _constant("s0", "[]", SHAPE),
    _constant("s12", "[1, 2]", SHAPE),
    _constant("s31", "[3, 1]", SHAPE),
    _constant("s45", "[4, 5]", SHAPE),
    _constant("t12", "[1, 2]", "tensor<2xindex>"),
    _constant("t3", "[3]", "tensor<1xindex>"),
    ("%sx = shape.shape_of %x : tensor<2x3xf32> -> tensor<2xindex>\n", "%sx", "tensor<2xindex>"),
    ("%sk = shape.shape_of %k : tensor<?x4xf32> -> !shape.shape\n", "%sk", SHAPE),
    ("%sn = shape.shape_of %n : tensor<1x?xf32> -> tensor<?xindex>\n", "%sn", "tensor<?xindex>"),
    ("%sc = shape.shape_of %c : tensor<?x1xf32> -> tensor<2xindex>\n", "%sc", "tensor<2xindex>"),
    ("%so = shape.shape_of %o : tensor<*xf32> -> !shape.shape\n", "%so", SHAPE),
    ("%ch = tensor.cast %h : tensor<3xindex> to tensor<?xindex>\n", "%ch", "tensor<?xindex>"),
]
PLAIN_SHAPES = [shape for shape in SHAPES if shape[2] == SHAPE]
EXTENTS = [shape for shape in SHAPES if shape[2] != SHAPE]


def _body(op: str, operands: tuple[Operand, ...], results: str, properties: str = "") -> str:
    """The op in generic form, after what makes its operands, and a use of its results."""
    made = "".join(dict.fromkeys(operand[0] for operand in operands))
    names, types = ", ".join(o[1] for o in operands), ", ".join(o[2] for o in operands)
    count = results.count(",") + 1
    used = ", ".join(f"%r#{i}" for i in range(count)) if count > 1 else "%r"
    place = f"%r:{count}" if count > 1 else "%r"
    return (
        f'{made}{place} = "shape.{op}"({names}) {properties}: ({types}) -> ({results})\n"test.use"({used}) : ({results}) -> ()\n'
    )


def _size_of(operands: tuple[Operand, ...]) -> str:
    return SIZE if any(o[2] in (SIZE, SHAPE) for o in operands) else INDEX


def _rows() -> Iterator[str]:
    for op, pair in product(("add", "mul", "div"), product(SIZES, SIZES)):
        towards_zero = (op, pair[0][1], pair[1][1]) == ("div", "%i2", "%im")  # MLIR's quotient is 0
        if not towards_zero and not _negative_size(op, pair):
            yield _body(op, pair, _size_of(pair))
    for op, pair in product(("max", "min"), product(SIZES[0:1] + SIZES[2:4], repeat=2)):
        yield _body(op, pair, SIZE)
    for op, pair in product(("max", "min"), product(PLAIN_SHAPES[:4], repeat=2)):
        yield _body(op, pair, SHAPE)
    for size in SIZES:
        if size[1] not in ("%im", "%z", "%z0", "%z3"):
            yield _body("index_to_size", (size,), SIZE)
        yield _body("size_to_index", (size,), INDEX)
    for pair in product(PLAIN_SHAPES, PLAIN_SHAPES[:4]):
        yield _body("broadcast", (*pair, SHAPES[5], ("", "%t", SHAPE)), SHAPE)
        yield _body("any", pair, SHAPE)
        yield _body("concat", pair, SHAPE)
        yield _body("meet", pair, SHAPE, '<{error = "why"}> ')
    for n, (a, b) in product(range(2), product(range(len(SHAPES)), repeat=2)):
        if a <= b or (a + b) % 3 == 0:
            yield _body(("broadcast", "cstr_broadcastable")[n], (SHAPES[a], SHAPES[b]), (SHAPE, "!shape.witness")[n])
        if a <= b and (a + b) % 3 != 1:
            yield _body(("shape_eq", "cstr_eq")[n], (SHAPES[a], SHAPES[b]), ("i1", "!shape.witness")[n])
        if n and (a + b) % 4 == 0:
            yield _body("is_broadcastable", (SHAPES[a], SHAPES[b]), "i1")
    for pair in product(EXTENTS[:3], EXTENTS[:3]):
        yield _body("broadcast", pair, "tensor<?xindex>")
        yield _body("concat", (EXTENTS[0], pair[0]), "tensor<?xindex>")
    for shape in SHAPES:
        yield _body("rank", (shape,), _size_of((shape,)))
        yield _body("num_elements", (shape,), _size_of((shape,)))
        yield _body("num_elements", (shape,), SIZE)
        for size in SIZES[:6]:
            if size[1] not in ("%z", "%z0"):
                yield _body("get_extent", (shape, size), _size_of((shape, size)))
        for size in (*SIZES[3:7], SIZES[0]):
            yield _body("split_at", (shape, size), f"{SHAPE}, {SHAPE}")
        if shape[2] == SHAPE:
            yield _body(
                "to_extent_tensor", (shape,), "tensor<?xindex>" if shape[0] == "" or "shape_of" in shape[0] else _list(shape)
            )
        else:
            yield _body("from_extent_tensor", (shape,), SHAPE)
            yield _body("value_as_shape", (shape,), SHAPE)
        yield _body("broadcast", (shape,), SHAPE)
        yield _body("broadcast", (shape, shape, SHAPES[4]), SHAPE)
    for sizes in product(SIZES[:6], repeat=2):
        yield _body("from_extents", sizes, SHAPE)


def _negative_size(op: str, pair: tuple[Operand, ...]) -> bool:
    """Whether a `!shape.size` would come out negative: MLIR makes such a constant, which our verifier refuses."""
    return (
        any(o[1] == "%im" for o in pair)
        and _size_of(pair) == SIZE
        and all("constant" in o[0] or "const_size" in o[0] for o in pair)
    )


def _list(shape: Operand) -> str:
    extents = shape[0].partition("[")[2].partition("]")[0]
    return f"tensor<{len(extents.split(',')) if extents else 0}xindex>"


BY_HAND = [
    # values to shapes
    *(
        f'%r = shape.shape_of {value} : {type} -> {result}\n"test.use"(%r) : ({result}) -> ()\n'
        for value, type, result in (
            ("%x", "tensor<2x3xf32>", "tensor<2xindex>"),
            ("%x", "tensor<2x3xf32>", "tensor<?xindex>"),
            ("%k", "tensor<?x4xf32>", "tensor<2xindex>"),
            ("%k", "tensor<?x4xf32>", "!shape.shape"),
            ("%o", "tensor<*xf32>", "tensor<?xindex>"),
            ("%o", "tensor<*xf32>", "!shape.shape"),
            ("%q", "tensor<f32>", "tensor<0xindex>"),
            ("%m", "memref<2x?xf32>", "tensor<2xindex>"),
            ("%a", "!shape.value_shape", "!shape.shape"),
        )
    ),
    *(
        f'%l = arith.constant {i} : index\n%r = shape.dim {value} , %l : {type}, index -> index\n"test.use"(%r) : (index) -> ()\n'
        for i, (value, type) in product(
            (0, 1, 5), (("%x", "tensor<2x3xf32>"), ("%k", "tensor<?x4xf32>"), ("%o", "tensor<*xf32>"))
        )
    ),
    '%l = shape.const_size 1\n%r = shape.dim %k, %l : tensor<?x4xf32>, !shape.size -> !shape.size\n'
    '"test.use"(%r) : (!shape.size) -> ()\n',
    '%r = shape.dim %k, %i : tensor<?x4xf32>, index -> index\n"test.use"(%r) : (index) -> ()\n',
    '%l = shape.with_shape %k, %s : tensor<?x4xf32>, !shape.shape\n%r = shape.value_of %l : tensor<?x4xf32>\n'
    '"test.use"(%r) : (tensor<?x4xf32>) -> ()\n',
    '%l = shape.with_shape %k, %s : tensor<?x4xf32>, !shape.shape\n%r = shape.shape_of %l : !shape.value_shape -> !shape.shape\n'
    '"test.use"(%r) : (!shape.shape) -> ()\n',
    '%l = shape.value_as_shape %a : !shape.value_shape -> !shape.shape\n"test.use"(%l) : (!shape.shape) -> ()\n',
    '%l = arith.constant dense<[2, 3]> : tensor<2xindex>\n%r = shape.from_extent_tensor %l : tensor<2xindex>\n'
    '"test.use"(%r) : (!shape.shape) -> ()\n',
    '%l = arith.constant dense<[2, 3]> : tensor<2xindex>\n%r = shape.value_as_shape %l : tensor<2xindex> -> !shape.shape\n'
    '"test.use"(%r) : (!shape.shape) -> ()\n',
    '%l = arith.constant dense<[2, 3]> : tensor<2xindex>\n%r = shape.concat %l, %l : tensor<2xindex>, tensor<2xindex> -> '
    'tensor<4xindex>\n"test.use"(%r) : (tensor<4xindex>) -> ()\n',
    # casts and builtin ops on shapes
    '%l = shape.shape_of %k : tensor<?x4xf32> -> tensor<?xindex>\n%r = tensor.cast %l : tensor<?xindex> to tensor<2xindex>\n'
    '"test.use"(%r) : (tensor<2xindex>) -> ()\n',
    '%l = shape.shape_of %k : tensor<?x4xf32> -> tensor<?xindex>\n%r = tensor.cast %l : tensor<?xindex> to tensor<3xindex>\n'
    '"test.use"(%r) : (tensor<3xindex>) -> ()\n',
    '%l = shape.shape_of %o : tensor<*xf32> -> tensor<?xindex>\n%r = tensor.cast %l : tensor<?xindex> to tensor<3xindex>\n'
    '"test.use"(%r) : (tensor<3xindex>) -> ()\n',
    '%l = shape.shape_of %k : tensor<?x4xf32> -> tensor<2xindex>\n%r = tensor.extract %l[%i] : tensor<2xindex>\n'
    '"test.use"(%r) : (index) -> ()\n',
    '%l = shape.shape_of %x : tensor<2x3xf32> -> tensor<?xindex>\n%r = shape.num_elements %l : tensor<?xindex> -> index\n'
    '"test.use"(%r) : (index) -> ()\n',
    '%l = tensor.cast %h : tensor<3xindex> to tensor<?xindex>\n%r = tensor.cast %l : tensor<?xindex> to tensor<3xindex>\n'
    '"test.use"(%r) : (tensor<3xindex>) -> ()\n',
    # conversions there and back
    '%l = shape.index_to_size %i\n%r = shape.size_to_index %l : !shape.size\n"test.use"(%r) : (index) -> ()\n',
    '%l = shape.size_to_index %z : !shape.size\n%r = shape.index_to_size %l\n"test.use"(%r) : (!shape.size) -> ()\n',
    '%l = shape.from_extent_tensor %e : tensor<?xindex>\n%r = shape.to_extent_tensor %l : !shape.shape -> tensor<?xindex>\n'
    '"test.use"(%r) : (tensor<?xindex>) -> ()\n',
    '%l = shape.to_extent_tensor %s : !shape.shape -> tensor<?xindex>\n%r = shape.from_extent_tensor %l : tensor<?xindex>\n'
    '"test.use"(%r) : (!shape.shape) -> ()\n',
    # chains
    "%l = shape.const_size 2\n%l3 = shape.add %l, %l : !shape.size, !shape.size -> !shape.size\n"
    "%l4 = shape.mul %l3, %l : !shape.size, !shape.size -> !shape.size\n"
    "%l5 = shape.from_extents %l3, %l4 : !shape.size, !shape.size\n"
    '%r = shape.num_elements %l5 : !shape.shape -> !shape.size\n"test.use"(%r) : (!shape.size) -> ()\n',
    # constraints
    *(
        f'{lines}"test.use"(%r) : (!shape.witness) -> ()\n'
        for lines in (
            '%l = arith.constant true\n%r = shape.cstr_require %l, "why"\n',
            '%l = arith.constant false\n%r = shape.cstr_require %l, "why"\n',
            '%r = shape.cstr_require %p, "why"\n',
            "%r = shape.const_witness true\n",
            "%r = shape.const_witness false\n",
            "%l = shape.const_witness false\n%r = shape.assuming_all %w, %l, %v\n",
            "%l = shape.const_witness true\n%r = shape.assuming_all %l, %w, %l, %v\n",
            "%l = shape.const_witness true\n%r = shape.assuming_all %l, %l\n",
            "%r = shape.assuming_all %w\n",
            "%r = shape.assuming_all %w, %v, %w\n",
            "%l = shape.assuming_all %w, %v\n%r = shape.assuming_all %l, %w\n",
            "%l = shape.assuming_all %w, %v\n%l2 = shape.cstr_eq %s, %t : !shape.shape, !shape.shape\n"
            "%l3 = shape.assuming_all %l2, %l\n%r = shape.assuming_all %l3, %w\n",
            "%l = shape.cstr_broadcastable %s, %t : !shape.shape, !shape.shape\n%l2 = shape.cstr_broadcastable %s, %t, %u : "
            "!shape.shape, !shape.shape, !shape.shape\n%r = shape.assuming_all %l, %l2\n",
            "%l = shape.cstr_broadcastable %s, %t : !shape.shape, !shape.shape\n%l2 = shape.cstr_broadcastable %t, %u : "
            "!shape.shape, !shape.shape\n%r = shape.assuming_all %l, %l2\n",
            "%l = shape.cstr_broadcastable %s, %t : !shape.shape, !shape.shape\n%l2 = shape.cstr_eq %s, %t, %u : "
            "!shape.shape, !shape.shape, !shape.shape\n%r = shape.assuming_all %l, %l2\n",
            "%l = shape.cstr_eq %s, %t : !shape.shape, !shape.shape\n%l2 = shape.cstr_eq %t, %u : !shape.shape, !shape.shape\n"
            "%r = shape.assuming_all %l, %l2\n",
            "%l = shape.cstr_eq %s, %t : !shape.shape, !shape.shape\n%l2 = shape.cstr_eq %u, %u : !shape.shape, !shape.shape\n"
            "%r = shape.assuming_all %l, %l2\n",
            "%l = shape.cstr_eq %s, %t : !shape.shape, !shape.shape\n%l2 = shape.cstr_eq %u, %f : !shape.shape, tensor<2xindex>\n"
            "%r = shape.assuming_all %l, %l2\n",
            "%r = shape.cstr_broadcastable %s, %t, %s, %g : !shape.shape, !shape.shape, !shape.shape, tensor<0xindex>\n",
            "%r = shape.cstr_eq %s, %t, %s : !shape.shape, !shape.shape, !shape.shape\n",
            "%r = shape.cstr_eq %s, %s, %s : !shape.shape, !shape.shape, !shape.shape\n",
        )
    ),
    '%r = shape.is_broadcastable %s, %t, %s : !shape.shape, !shape.shape, !shape.shape\n"test.use"(%r) : (i1) -> ()\n',
    "%l = shape.const_shape [3] : !shape.shape\n%l2 = shape.const_shape [3] : !shape.shape\n"
    '%r = shape.is_broadcastable %l, %s, %l2 : !shape.shape, !shape.shape, !shape.shape\n"test.use"(%r) : (i1) -> ()\n',
    '%l = shape.const_shape [] : !shape.shape\n%r = shape.shape_eq %l, %s, %t : !shape.shape, !shape.shape, !shape.shape\n'
    '"test.use"(%r) : (i1) -> ()\n',
    # assuming
    '%l = shape.const_witness true\n%r = shape.assuming %l -> (index) {\n%in = "test.make"() : () -> index\n'
    'shape.assuming_yield %in : index\n}\n"test.use"(%r) : (index) -> ()\n',
    '%r:2 = shape.assuming %w -> (index, index) {\n%in:2 = "test.make"() : () -> (index, index)\n'
    'shape.assuming_yield %in#0, %in#1 : index, index\n}\n"test.use"(%r#1) : (index) -> ()\n',
    '%r = shape.assuming %w -> (index) {\nshape.assuming_yield %i : index\n}\n"test.use"(%r) : (index) -> ()\n',
    'shape.assuming %w {\n}\n',
    'shape.assuming %w {\n"test.use"(%i) : (index) -> ()\n}\n',
    '%l = shape.const_witness true\nshape.assuming %l {\n"test.use"(%i) : (index) -> ()\n}\n',
    '%l = shape.cstr_eq %s, %s : !shape.shape, !shape.shape\n%r = shape.assuming %l -> (!shape.size) {\n'
    '%in = shape.const_size 3\n%in2 = shape.add %in, %in : !shape.size, !shape.size -> !shape.size\n'
    'shape.assuming_yield %in2 : !shape.size\n}\n"test.use"(%r) : (!shape.size) -> ()\n',
    # reduce, debug_print, meet: nothing
    *(
        f"%l = shape.const_size 1\n{shape}%r = shape.reduce({name}, %l) : {type} -> !shape.size {{\n"
        f"^bb0(%at: index, %ext: {extent}, %acc: !shape.size):\n"
        f"%in = shape.mul %acc, %ext : !shape.size, {extent} -> !shape.size\nshape.yield %in : !shape.size\n}}\n"
        '"test.use"(%r) : (!shape.size) -> ()\n'
        for shape, name, type, extent in (
            ("", "%s", SHAPE, SIZE),
            ("%l2 = shape.const_shape [2, 3] : !shape.shape\n", "%l2", SHAPE, SIZE),
            ("%l2 = shape.const_shape [] : !shape.shape\n", "%l2", SHAPE, SIZE),
            ("", "%e", "tensor<?xindex>", INDEX),
        )
    ),
    '%l = shape.const_size 1\n%r = "shape.debug_print"(%l) : (!shape.size) -> !shape.size\n'
    '"test.use"(%r) : (!shape.size) -> ()\n',
    '%r = "shape.debug_print"(%s) : (!shape.shape) -> !shape.shape\n',
    '%l = shape.const_size 1\n%r = shape.meet %l, %l : !shape.size, !shape.size -> !shape.size\n'
    '"test.use"(%r) : (!shape.size) -> ()\n',
    '%l = arith.constant 1 : index\n%r = shape.meet %l, %i : index, index -> index\n"test.use"(%r) : (index) -> ()\n',
    # more shapes at once
    "%l = shape.const_shape [1, 2] : !shape.shape\n%l2 = shape.const_shape [4, 5] : !shape.shape\n"
    "%l3 = shape.const_shape [3, 1] : "
    '!shape.shape\n%r = "shape.broadcast"(%l, %s, %l2, %l3) : (!shape.shape, !shape.shape, !shape.shape, !shape.shape) -> '
    '!shape.shape\n"test.use"(%r) : (!shape.shape) -> ()\n',
    "%l = shape.const_shape [-1, 3] : !shape.shape\n%l2 = shape.const_shape [1] : !shape.shape\n"
    '%r = shape.broadcast %l, %l2 : !shape.shape, !shape.shape -> !shape.shape\n"test.use"(%r) : (!shape.shape) -> ()\n',
    *(
        f"%l = shape.const_shape [-9223372036854775808, 3] : !shape.shape\n%l2 = shape.const_shape {other} : !shape.shape\n"
        '%r = shape.broadcast %l, %l2 : !shape.shape, !shape.shape -> !shape.shape\n"test.use"(%r) : (!shape.shape) -> ()\n'
        for other in ("[1, 1]", "[5, 1]", "[0, 1]", "[3]", "[2]", "[7, 1, 3]")
    ),
    "%l = tensor.cast %f : tensor<2xindex> to tensor<?xindex>\n"
    '%r = shape.broadcast %l, %l : tensor<?xindex>, tensor<?xindex> -> tensor<2xindex>\n'
    '"test.use"(%r) : (tensor<2xindex>) -> ()\n',
    '%r = shape.any %s, %t, %s : !shape.shape, !shape.shape, !shape.shape -> !shape.shape\n'
    '"test.use"(%r) : (!shape.shape) -> ()\n',
    '%r = shape.any %e, %f : tensor<?xindex>, tensor<2xindex> -> tensor<?xindex>\n"test.use"(%r) : (tensor<?xindex>) -> ()\n',
]  # fmt: skip


def _dead() -> Iterator[str]:
    """Every op with unused results: what is pure goes."""
    for body in (*_sample(), *BY_HAND):
        lines = body.splitlines(keepends=True)
        if '"test.use"' in lines[-1]:
            yield "".join(lines[:-1])


def _sample() -> Iterator[str]:
    seen: dict[str, int] = {}
    for body in _rows():
        op = body.partition('"shape.')[2].partition('"')[0]
        seen[op] = seen.get(op, 0) + 1
        if seen[op] in (1, 9):
            yield body


def bodies() -> list[str]:
    """The bodies of all functions, each once."""
    return list(dict.fromkeys((*_rows(), *BY_HAND, *_dead())))


def corpus() -> str:
    """One module, a function for each body with the arguments that it uses."""
    return "\n".join(f"func.func @f{n}({_arguments(body)}) {{\n{body}func.return\n}}" for n, body in enumerate(bodies()))


def _arguments(body: str) -> str:
    used = dict.fromkeys(re.findall(r"%([a-z])\b", body))
    return ", ".join(f"%{name}: {ARGUMENTS[name]}" for name in used if name in ARGUMENTS and f"%{name} =" not in body)
