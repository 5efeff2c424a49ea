"""Rows of `ptir_rewrite_rows` for slices before other ops and for constants of integers."""

# ruff: noqa: E501, programs are read better in one line each

from __future__ import annotations

from ptir_rewrite_rows import I, Row, const

X = "%x: tensor<4x6xf32>"
XY = "%x: tensor<4x6xf32>, %y: tensor<4x6xf32>"
XYZ = "%x: tensor<4x2xf32>, %y: tensor<4x3xf32>, %z: tensor<4x4xf32>"


def padded(low: str, high: str, shape: str, interior: str = "0, 0", value: str = "2.0") -> str:
    return (
        f"%a = ptir.pad %x low = [{low}] high = [{high}] interior = [{interior}] pad_value = {value} : f32"
        f" : tensor<4x6xf32> -> tensor<{shape}xf32>; "
    )


def cut(starts: str, sizes: str, source: str, dtype: str = "f32") -> str:
    result = sizes.replace(", ", "x")
    arrow = "" if result == source else f" -> tensor<{result}x{dtype}>"
    return f"%r = ptir.slice %a starts = [{starts}] sizes = [{sizes}] : tensor<{source}x{dtype}>{arrow}"


def pads(*starts: int, tree: str = "add %x1, %y1; add %s1, %z1", value: str = "0.0", dtype: str = "f32") -> str:
    """`%x`, `%y` and `%z` of `XYZ` from these columns on in zeros of 4x9, and a sum of them."""
    lines = [
        f"%{name}1 = ptir.pad %{name} low = [0, {start}] high = [0, {9 - start - n}] interior = [0, 0] pad_value = {value} : {dtype}"
        f" : tensor<4x{n}x{dtype}> -> tensor<4x9x{dtype}>"
        for name, start, n in zip("xyz", starts, (2, 3, 4), strict=True)
    ]
    names = [f"s{i + 1}" for i in range(tree.count(";"))] + ["r"]
    sums = [f"%{name} = ptir.{line.strip()} : tensor<4x9x{dtype}>" for name, line in zip(names, tree.split(";"), strict=True)]
    return "; ".join((*lines, *sums))


def constants(first: str, second: str, *, c: int = 100, d: int = 100, dtype: str = "si8") -> str:
    """Two binary ops, `first` of `%x` and `%c`, `second` of `%a` and `%d`, in the order of their texts."""
    return (
        f"{const('c', c, dtype)}; {const('d', d, dtype)};"
        f" %a = ptir.{first} : tensor<8x{dtype}>; %r = ptir.{second} : tensor<8x{dtype}>"
    )


JOINED = "%a = ptir.concat %x, %y, %z axis = 1 : (tensor<4x2xf32>, tensor<4x3xf32>, tensor<4x4xf32>) -> tensor<4x9xf32>; "
BROADCAST = "%a = ptir.broadcast_to %x result_shape = [3, 4, 6] : tensor<4x6xf32> -> tensor<3x4x6xf32>; "
NEAR = (
    "%z = ptir.constant fill 0 : tensor<4x1xsi32>; %m = ptir.constant fill 5 : tensor<4x1xsi32>;"
    " %j = ptir.clamp %i, %z, %m : tensor<4x1xsi32>; "
)
COLUMN = (
    "%y = ptir.slice %x starts = [0, 1] sizes = [4, 1] : tensor<4x6xf32> -> tensor<4x1xf32>;"
    " %b = ptir.broadcast_to %y result_shape = [4, 6] : tensor<4x1xf32> -> tensor<4x6xf32>; "
)
PICKED = "%r = ptir.gather %a, %j axis = 1 : (tensor<4x6xf32>, tensor<4x1xsi32>) -> tensor<4x1xf32>"
TURNED = "%a = ptir.transpose %x perm = [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>; "


def halves(first: tuple[str, str], second: tuple[str, str], result: str, axis: int = 1) -> str:
    """The concat of two slices of `%x`, each given by starts and sizes."""
    shapes = [sizes.replace(", ", "x") for _, sizes in (first, second)]
    slices = [
        f"%{name} = ptir.slice %x starts = [{starts}] sizes = [{sizes}] : tensor<4x6xf32> -> tensor<{shape}xf32>; "
        for name, (starts, sizes), shape in zip("ab", (first, second), shapes, strict=True)
    ]
    joined = f"%r = ptir.concat %a, %b axis = {axis} : (tensor<{shapes[0]}xf32>, tensor<{shapes[1]}xf32>) -> tensor<{result}xf32>"
    return "".join(slices) + joined


DOT = "ptir.dot_general %a, %b batch_lhs = {0} batch_rhs = {1} contract_lhs = {2} contract_rhs = {3} : ({4}, {5}) -> {6}"


def tensor(shape: str, dtype: str = "si32") -> str:
    return f"tensor<{shape}x{dtype}>"


def product(name: str, axes: tuple[str, str, str, str], a: str, b: str, result: str, dtype: str = "si32") -> str:
    return f"%{name} = " + DOT.format(*axes, *(tensor(s, dtype) for s in (a, b, result)))


def turned_product(perm: str, shape: str, dtype: str = "si32") -> str:
    """A transpose of the product of stacks of matrices."""
    dot = product("p", ("[0]", "[0]", "[2]", "[1]"), "2x3x4", "2x4x5", "2x3x5", dtype)
    types = " : " + tensor("2x3x5", dtype) + " -> " + tensor(shape, dtype)
    return f"{dot}; %r = ptir.transpose %p perm = {perm}{types}"


def repeated(x: str, shape: str, name: str = "a") -> str:
    """Argument `%x` repeated."""
    extents = "[" + shape.replace("x", ", ") + "]"
    return f"%{name} = ptir.broadcast_to %x result_shape = {extents} : {tensor(x)} -> {tensor(shape)}; "


def of(x: str, other: str, name: str = "b") -> str:
    return f"%x: {tensor(x)}, %{name}: {tensor(other)} | "


PLAIN = ("[]", "[]", "[1]", "[0]")
STACKS = ("[0]", "[0]", "[2]", "[1]")

SLICE_ROWS: tuple[Row, ...] = (
    Row(
        "slice_of_pad",
        X,
        (
            padded("1, 2", "3, 0", "8x8") + cut("2, 3", "3, 2", "8x8"),
            padded("1, 2", "3, 0", "8x8") + cut("5, 0", "2, 8", "8x8"),
            padded("1, 2", "3, 0", "8x8") + cut("0, 2", "5, 6", "8x8"),
            padded("1, 2", "3, 0", "8x8", value="-0.0") + cut("0, 3", "6, 4", "8x8"),
            padded("0, 2", "0, 0", "4x8") + cut("1, 0", "2, 8", "4x8"),
        ),
        (
            padded("0, 2", "0, 0", "4x13", "0, 1") + cut("0, 2", "4, 11", "4x13"),
            padded("0, 2", "0, 0", "4x8")
            + cut("1, 0", "2, 8", "4x8").replace("%r", "%s")
            + "; %t = ptir.reduce %a kind = max axes = [0] keepdims = true : tensor<4x8xf32> -> tensor<1x8xf32>"
            + "; %r = ptir.concat %s, %t axis = 0 : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<3x8xf32>",
            '%x: tensor<?xf32, "B"> | %a = ptir.pad %x low = [1] high = [1] interior = [0] pad_value = 2.0 : f32'
            ' : tensor<?xf32, "B"> -> tensor<?xf32, "B+2">;'
            ' %r = ptir.slice %a starts = [0] sizes = [2] : tensor<?xf32, "B+2"> -> tensor<2xf32>',
        ),
    ),
    Row(
        "slice_of_broadcast",
        X,
        (
            BROADCAST + cut("1, 1, 2", "2, 2, 3", "3x4x6"),
            BROADCAST + cut("1, 0, 0", "1, 4, 6", "3x4x6"),
            "%x: tensor<4x1xf32> | %a = ptir.broadcast_to %x result_shape = [4, 6] : tensor<4x1xf32> -> tensor<4x6xf32>; "
            + cut("1, 2", "3, 2", "4x6"),
        ),
        (
            '%x: tensor<?xf32, "B"> | %a = ptir.broadcast_to %x result_shape = [3, B] : tensor<?xf32, "B"> -> tensor<3x?xf32, "*,B">;'
            ' %r = ptir.slice %a starts = [0, 0] sizes = [2, 1] : tensor<3x?xf32, "*,B"> -> tensor<2x1xf32>',
        ),
    ),
    Row(
        "slice_of_transpose",
        X,
        (
            TURNED + cut("1, 0", "3, 4", "6x4"),
            "%x: tensor<2x3x4xf32> | %a = ptir.transpose %x perm = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>; "
            + cut("1, 1, 0", "2, 1, 2", "4x2x3"),
        ),
        (
            TURNED
            + cut("0, 0", "3, 4", "6x4").replace("%r", "%s")
            + "; "
            + cut("1, 0", "5, 4", "6x4").replace("%r", "%t")
            + "; %r = ptir.concat %s, %t axis = 0 : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>",
        ),
    ),
    Row(
        "slice_across_concat",
        XYZ,
        (JOINED + cut("0, 3", "4, 6", "4x9"), JOINED + cut("1, 0", "2, 5", "4x9"), JOINED + cut("1, 1", "2, 2", "4x9")),
        (
            JOINED + cut("0, 1", "4, 6", "4x9"),
            JOINED
            + cut("0, 3", "4, 6", "4x9").replace("%r", "%s")
            + "; %t = ptir.slice %a starts = [0, 0] sizes = [4, 8] : tensor<4x9xf32> -> tensor<4x8xf32>"
            + "; %r = ptir.concat %s, %t axis = 1 : (tensor<4x6xf32>, tensor<4x8xf32>) -> tensor<4x14xf32>",
        ),
    ),
    Row(
        "concat_of_slices",
        X,
        (
            halves(("0, 1", "4, 2"), ("0, 3", "4, 3"), "4x5"),
            halves(("0, 0", "4, 2"), ("0, 2", "4, 4"), "4x6"),
            halves(("1, 0", "1, 6"), ("2, 0", "2, 6"), "3x6", axis=0),
            "%a = ptir.slice %x starts = [0, 0] sizes = [1, 6] : tensor<4x6xf32> -> tensor<1x6xf32>;"
            " %b = ptir.slice %x starts = [1, 0] sizes = [1, 6] : tensor<4x6xf32> -> tensor<1x6xf32>;"
            " %c = ptir.slice %x starts = [2, 0] sizes = [1, 6] : tensor<4x6xf32> -> tensor<1x6xf32>;"
            " %r = ptir.concat %c, %a, %b, %c axis = 0"
            " : (tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>",
        ),
        (
            halves(("0, 1", "4, 2"), ("0, 4", "4, 2"), "4x4"),
            halves(("0, 3", "4, 3"), ("0, 0", "4, 3"), "4x6"),
            halves(("0, 0", "2, 2"), ("1, 2", "2, 2"), "2x4"),
        ),
    ),
    Row(
        "pad_of_pad",
        X,
        (
            padded("1, 2", "3, 0", "8x8")
            + "%r = ptir.pad %a low = [0, 1] high = [2, 0] interior = [0, 0] pad_value = 2.0 : f32 : tensor<8x8xf32> -> tensor<10x9xf32>",
            padded("0, 1", "0, 1", "4x13", "0, 1")
            + "%r = ptir.pad %a low = [0, 1] high = [0, 0] interior = [0, 0] pad_value = 2.0 : f32 : tensor<4x13xf32> -> tensor<4x14xf32>",
        ),
        (
            padded("1, 2", "3, 0", "8x8", value="0.0")
            + "%r = ptir.pad %a low = [0, 1] high = [2, 0] interior = [0, 0] pad_value = -0.0 : f32 : tensor<8x8xf32> -> tensor<10x9xf32>",
            padded("1, 2", "3, 0", "8x8")
            + "%r = ptir.pad %a low = [0, 0] high = [0, 0] interior = [1, 0] pad_value = 2.0 : f32 : tensor<8x8xf32> -> tensor<15x8xf32>",
        ),
    ),
    Row(
        "sum_of_pads",
        XYZ,
        (
            pads(0, 2, 5),
            pads(7, 4, 0),
            pads(4, 6, 0, tree="add %z1, %x1; add %y1, %s1"),
            XYZ.replace("f32", "si8") + " | " + pads(0, 2, 5, value="0", dtype="si8"),
            XYZ.replace("f32", "f16") + " | " + pads(0, 2, 5, dtype="f16"),
        ),
        (
            pads(0, 2, 4),
            pads(0, 1, 5),
            pads(0, 2, 5, value="-0.0"),
            pads(0, 2, 5, tree="add %x1, %y1; sub %s1, %z1"),
            pads(0, 2, 5, tree="add %x1, %y1; add %s1, %z1; add %s2, %x1"),
            pads(0, 2, 5, tree="add %x1, %y1; add %s1, %z1; mul %s2, %s1"),
            pads(0, 2, 5, tree="add %x1, %y1; add %s1, %s1"),
            "%x: tensor<4x2xf32>, %y: tensor<2x3xf32>"
            " | %a = ptir.pad %x low = [0, 0] high = [0, 1] interior = [0, 0] pad_value = 0.0 : f32 : tensor<4x2xf32> -> tensor<4x3xf32>;"
            " %b = ptir.pad %y low = [2, 0] high = [0, 0] interior = [0, 0] pad_value = 0.0 : f32 : tensor<2x3xf32> -> tensor<4x3xf32>;"
            " %r = ptir.add %a, %b : tensor<4x3xf32>",
        ),
    ),
    Row(
        "sum_of_constants",
        I,
        (
            constants("add %x, %c", "add %a, %d"),
            constants("sub %x, %c", "add %d, %a", d=-27),
            constants("sub %c, %x", "add %a, %d"),
            constants("add %c, %x", "sub %a, %d"),
            constants("sub %x, %c", "sub %a, %d"),
            constants("sub %c, %x", "sub %a, %d", d=-128),
            constants("add %x, %c", "sub %d, %a"),
            constants("sub %x, %c", "sub %d, %a"),
            constants("sub %c, %x", "sub %d, %a"),
            "%x: tensor<8xui8> | " + constants("add %x, %c", "sub %a, %d", c=200, d=201, dtype="ui8"),
        ),
        (
            "%x: tensor<8xf32> | " + constants("add %x, %c", "add %a, %d", dtype="f32"),
            constants("add %x, %c", "mul %a, %d"),
            f"%x: tensor<8xsi8>, %y: tensor<8xsi8> | {const('c', 3, 'si8')}; %a = ptir.add %x, %y : tensor<8xsi8>;"
            " %r = ptir.add %a, %c : tensor<8xsi8>",
        ),
    ),
    Row(
        "reassociate",
        I,
        (
            constants("mul %x, %c", "mul %a, %d"),
            constants("mul %c, %x", "mul %d, %a", c=-7, d=37),
            constants("and %x, %c", "and %d, %a", c=23, d=-10),
            constants("or %x, %c", "or %a, %d", c=23, d=-128),
            constants("xor %x, %c", "xor %a, %d", c=23, d=-128),
            "%x: tensor<8xui16> | " + constants("mul %x, %c", "mul %a, %d", c=300, d=300, dtype="ui16"),
        ),
        (
            "%x: tensor<8xf32> | " + constants("mul %x, %c", "mul %a, %d", dtype="f32"),
            constants("and %x, %c", "or %a, %d", c=23, d=7),
        ),
    ),
    Row(
        "transpose_of_dot",
        f"%a: {tensor('2x3x4')}, %b: {tensor('2x4x5')}",
        (
            turned_product("[0, 2, 1]", "2x5x3"),
            f"%a: {tensor('3x2x4')}, %b: {tensor('4x5')} | "
            + product("p", ("[]", "[]", "[2]", "[0]"), "3x2x4", "4x5", "3x2x5")
            + f"; %r = ptir.transpose %p perm = [2, 0, 1] : {tensor('3x2x5')} -> {tensor('5x3x2')}",
        ),
        (
            turned_product("[1, 0, 2]", "3x2x5"),
            turned_product("[2, 1, 0]", "5x3x2"),
            "%a: tensor<2x3x4xcomplex<f32>>, %b: tensor<2x4x5xcomplex<f32>> | "
            + turned_product("[0, 2, 1]", "2x5x3", "complex<f32>"),
            turned_product("[0, 2, 1]", "2x5x3").replace("%r", "%s")
            + f"; %n = ptir.neg %p : {tensor('2x3x5')}; %v = ptir.reshape %n new_shape = [2, 5, 3] : {tensor('2x3x5')} -> {tensor('2x5x3')}"
            + f"; %r = ptir.add %s, %v : {tensor('2x5x3')}",
        ),
    ),
    Row(
        "lookup_of_elementwise",
        "%x: tensor<4x6xf32>, %i: tensor<4x1xsi32>",
        (
            NEAR + "%a = ptir.exp %x : tensor<4x6xf32>; " + PICKED,
            NEAR + "%a = ptir.mul %x, %x : tensor<4x6xf32>; " + PICKED,
            NEAR + COLUMN + "%a = ptir.sub %x, %b : tensor<4x6xf32>; " + PICKED,
            NEAR + COLUMN + "%e = ptir.sub %x, %b : tensor<4x6xf32>; %a = ptir.div %b, %e : tensor<4x6xf32>; " + PICKED,
            f"%x: tensor<4x6xf32>, %i: tensor<4x1xsi32> | %c = ptir.constant fill 2.0 : tensor<4x6xf32>; {NEAR}"
            f" %a = ptir.pow %c, %x : tensor<4x6xf32>; {PICKED}",
            "%x: tensor<4x6xf32>, %i: tensor<4x1xsi32> | %a = ptir.exp %x : tensor<4x6xf32>; " + PICKED.replace("%j", "%i"),
            "%x: tensor<4x6xf32>, %i: tensor<4x1xsi32> | %a = ptir.cast %x dtype = f64 : tensor<4x6xf32> -> tensor<4x6xf64>; "
            + NEAR
            + PICKED.replace("f32", "f64"),
            "%x: tensor<8x3xf32>, %y: tensor<3xf32>, %i: tensor<2x1xsi32> | "
            "%b = ptir.broadcast_to %y result_shape = [8, 3] : tensor<3xf32> -> tensor<8x3xf32>; "
            "%a = ptir.maximum %x, %b : tensor<8x3xf32>; "
            "%r = ptir.take %a, %i : (tensor<8x3xf32>, tensor<2x1xsi32>) -> tensor<2x1x3xf32>",
            "%x: tensor<8x3xf32>, %y: tensor<1x3xf32>, %i: tensor<2xsi32> | "
            "%b = ptir.broadcast_to %y result_shape = [8, 3] : tensor<1x3xf32> -> tensor<8x3xf32>; "
            "%a = ptir.compare %x, %b kind = less : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xi1>; "
            "%r = ptir.take %a, %i : (tensor<8x3xi1>, tensor<2xsi32>) -> tensor<2x3xi1>",
            "%x: tensor<4x9xf32>, %i: tensor<4x1xsi32> | %a = ptir.exp %x : tensor<4x9xf32>; "
            "%s = ptir.gather %a, %i axis = 1 : (tensor<4x9xf32>, tensor<4x1xsi32>) -> tensor<4x1xf32>; "
            "%t = ptir.broadcast_to %s result_shape = [4, 9] : tensor<4x1xf32> -> tensor<4x9xf32>; "
            "%r = ptir.add %a, %t : tensor<4x9xf32>",
            "%x: tensor<8xf32>, %i: tensor<0xsi32> | %c = ptir.constant fill 2.0 : tensor<8xf32>; "
            "%a = ptir.mul %c, %x : tensor<8xf32>; %r = ptir.take %a, %i : (tensor<8xf32>, tensor<0xsi32>) -> tensor<0xf32>",
        ),
        (
            "%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %i: tensor<4x1xsi32> | %a = ptir.add %x, %y : tensor<4x6xf32>; "
            + PICKED.replace("%j", "%i"),
            "%x: tensor<4x6xf32>, %y: tensor<6xf32>, %i: tensor<4x1xsi32> | "
            "%b = ptir.broadcast_to %y result_shape = [4, 6] : tensor<6xf32> -> tensor<4x6xf32>; "
            "%a = ptir.add %x, %b : tensor<4x6xf32>; " + PICKED.replace("%j", "%i"),
            "%x: tensor<4x6xsi32>, %i: tensor<4x1xsi32> | %c = ptir.constant fill 7 : tensor<4x6xsi32>; "
            "%a = ptir.div %c, %x : tensor<4x6xsi32>; " + PICKED.replace("%j", "%i").replace("f32", "si32"),
            "%x: tensor<4x6xf32>, %i: tensor<4x4xsi32> | %a = ptir.exp %x : tensor<4x6xf32>; "
            "%r = ptir.gather %a, %i axis = 1 : (tensor<4x6xf32>, tensor<4x4xsi32>) -> tensor<4x4xf32>",
            "%x: tensor<4x6xf32>, %i: tensor<4x1xsi32> | %a = ptir.exp %x : tensor<4x6xf32>; "
            "%s = ptir.gather %a, %i axis = 1 : (tensor<4x6xf32>, tensor<4x1xsi32>) -> tensor<4x1xf32>; "
            "%t = ptir.broadcast_to %s result_shape = [4, 6] : tensor<4x1xf32> -> tensor<4x6xf32>; "
            "%r = ptir.add %a, %t : tensor<4x6xf32>",
            "%x: tensor<8x1xf32>, %y: tensor<1x1xf32>, %i: tensor<si32> | "
            "%b = ptir.broadcast_to %y result_shape = [8, 1] : tensor<1x1xf32> -> tensor<8x1xf32>; "
            "%a = ptir.add %x, %b : tensor<8x1xf32>; "
            "%r = ptir.take %a, %i : (tensor<8x1xf32>, tensor<si32>) -> tensor<1xf32>",
            '%x: tensor<?x3xf32, "N,*">, %i: tensor<2xsi32> | %a = ptir.exp %x : tensor<?x3xf32, "N,*">; '
            '%r = ptir.take %a, %i : (tensor<?x3xf32, "N,*">, tensor<2xsi32>) -> tensor<2x3xf32>',
        ),
    ),
    Row(
        "broadcast_out_of_dot",
        X,
        (
            of("1x4", "4x5") + repeated("1x4", "3x4") + product("r", PLAIN, "3x4", "4x5", "3x5"),
            of("4", "4x5") + repeated("4", "3x4") + product("r", PLAIN, "3x4", "4x5", "3x5"),
            of("4x1", "3x4", "a") + repeated("4x1", "4x5", "b") + product("r", PLAIN, "3x4", "4x5", "3x5"),
            of("2x1x4", "2x4x5") + repeated("2x1x4", "2x3x4") + product("r", STACKS, "2x3x4", "2x4x5", "2x3x5"),
            of("4x1", "2x3x4", "a") + repeated("4x1", "2x4x5", "b") + product("r", STACKS, "2x3x4", "2x4x5", "2x3x5"),
        ),
        (
            of("4x5", "2x3x4", "a") + repeated("4x5", "2x4x5", "b") + product("r", STACKS, "2x3x4", "2x4x5", "2x3x5"),
            of("2x1x4x5", "2x6x3x4", "a")
            + repeated("2x1x4x5", "2x6x4x5", "b")
            + product("r", ("[0, 1]", "[0, 1]", "[3]", "[2]"), "2x6x3x4", "2x6x4x5", "2x6x3x5"),
            of("3x1", "4x5") + repeated("3x1", "3x4") + product("r", PLAIN, "3x4", "4x5", "3x5"),
            of("3x4", "2x4x5") + repeated("3x4", "2x3x4") + product("r", STACKS, "2x3x4", "2x4x5", "2x3x5"),
            of("1x2x4x5", "6x2x3x4", "a")
            + repeated("1x2x4x5", "6x2x4x5", "b")
            + product("r", ("[0, 1]", "[0, 1]", "[3]", "[2]"), "6x2x3x4", "6x2x4x5", "6x2x3x5"),
            of("4x5", "3x2x4", "a")
            + repeated("4x5", "2x4x5", "b")
            + product("r", ("[1]", "[0]", "[2]", "[1]"), "3x2x4", "2x4x5", "2x3x5"),
        ),
    ),
)
