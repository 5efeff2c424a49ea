"""Expressions: the same program gives the same text, ill-typed ones raise before any op exists, nothing recurses or leaks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from mind_dialect import build as b
from mind_dialect.core import CORE_OPS
from mind_dialect.errors import MindError
from mind_dialect.verify import verify
from mind_translate.core_ir import print_core_ir

X = b.variable("x", "f32", (2, 3))
Y = b.variable("y", "f32", (3,))
N = b.variable("n", "i64", (4,))
I32 = b.variable("k", "i32", (2, 3))
NEW = b.variable("z", "f32", (2, 3), profile="core-v1.1")
OLD = b.variable("old", "f32", (2, 3), profile="core-v1")
IMAGE = b.variable("image", "f32", (1, 5, 5, 2))
FILTER = b.variable("filter", "f32", (3, 3, 2, 1))

WELL_TYPED: dict[str, tuple[Callable[[], b.Expression], str]] = {
    "ConstI64": (lambda: b.const_i64(3), "%0 = ConstI64 {value=3} : tensor<i64[]>"),
    "ConstF32": (lambda: b.const_f32(0.1), "%0 = ConstF32 {value=0.1} : tensor<f32[]>"),
    "ConstF64": (lambda: b.const_f64(1), "%0 = ConstF64 {value=1.0} : tensor<f64[]>"),
    "ConstTensor": (
        lambda: b.literal([[1], [2]], "f32"),
        "%0 = ConstTensor {dtype=f32, shape=[2, 1], value=[[1.0], [2.0]]} : tensor<f32[2, 1]>",
    ),
    "Add": (lambda: X + Y, "%2 = Add (%0, %1) : tensor<f32[2, 3]>"),
    "Sub": (lambda: X - Y, "%2 = Sub (%0, %1) : tensor<f32[2, 3]>"),
    "Mul": (lambda: X * Y, "%2 = Mul (%0, %1) : tensor<f32[2, 3]>"),
    "Div": (lambda: NEW / Y, "%2 = Div (%0, %1) : tensor<f32[2, 3]>"),
    "Sum": (lambda: b.sum(X, [1], keepdims=True), "%1 = Sum (%0) {axes=[1], keepdims=true} : tensor<f32[2, 1]>"),
    "Mean": (lambda: b.mean(X), "%1 = Mean (%0) {axes=[], keepdims=false} : tensor<f32[]>"),
    "Reshape": (lambda: b.reshape(X, (3, -1)), "%1 = Reshape (%0) {new_shape=[3, -1]} : tensor<f32[3, 2]>"),
    "Transpose": (lambda: b.transpose(X, (1, 0)), "%1 = Transpose (%0) {permutation=[1, 0]} : tensor<f32[3, 2]>"),
    "ExpandDims": (lambda: b.expand_dims(Y, [0]), "%1 = ExpandDims (%0) {axes=[0]} : tensor<f32[1, 3]>"),
    "Squeeze": (lambda: b.squeeze(IMAGE, [0]), "%1 = Squeeze (%0) {axes=[0]} : tensor<f32[5, 5, 2]>"),
    "Index": (lambda: b.index(X, [1, 2]), "%1 = Index (%0) {indices=[1, 2]} : tensor<f32[]>"),
    "Slice": (
        lambda: b.slice(X, [0, 1], [2, 3]),
        "%1 = Slice (%0) {ends=[2, 3], starts=[0, 1], steps=[1, 1]} : tensor<f32[2, 2]>",
    ),
    "Gather": (lambda: b.gather(X, N), "%2 = Gather (%0, %1) : tensor<f32[4, 3]>"),
    "Dot": (lambda: b.dot(X, Y), "%2 = Dot (%0, %1) : tensor<f32[2]>"),
    "MatMul": (lambda: X @ b.transpose(X, [1, 0]), "%2 = MatMul (%0, %1) : tensor<f32[2, 2]>"),
    "Conv2d": (
        lambda: b.conv2d(IMAGE, FILTER, padding="Same"),
        "%2 = Conv2d (%0, %1) {padding=Same, strides=[1, 1]} : tensor<f32[1, 5, 5, 1]>",
    ),
    "Relu": (lambda: b.relu(X), "%1 = Relu (%0) : tensor<f32[2, 3]>"),
    "Neg": (lambda: -X, "%1 = Neg (%0) : tensor<f32[2, 3]>"),
    "Exp": (lambda: b.exp(X), "%1 = Exp (%0) : tensor<f32[2, 3]>"),
    "Log": (lambda: b.log(X), "%1 = Log (%0) : tensor<f32[2, 3]>"),
}


def test_every_opcode_has_an_expression():
    assert list(WELL_TYPED) == [op.OPCODE for op in CORE_OPS]


@pytest.mark.parametrize("opcode", WELL_TYPED)
def test_every_opcode(opcode: str):
    make, line = WELL_TYPED[opcode]
    module = b.program("main", make())
    verify(module)
    assert print_core_ir(module).split("\n")[-2] == line


def text(*outputs: b.Expression, **options) -> str:
    module = b.program("main", *outputs, **options)
    verify(module)
    return print_core_ir(module)


def test_numbers_become_constants_of_the_other_operands_dtype():
    assert text(2 - I32 * 3) == (
        "%0 = Input {name=k} : tensor<i32[2, 3]>\n"
        "%1 = ConstTensor {dtype=i32, shape=[], value=2} : tensor<i32[]>\n"
        "%2 = ConstTensor {dtype=i32, shape=[], value=3} : tensor<i32[]>\n"
        "%3 = Mul (%0, %2) : tensor<i32[2, 3]>\n"
        "%4 = Sub (%1, %3) : tensor<i32[2, 3]>\n"
        "outputs: %4"
    )


@pytest.mark.parametrize(
    ("reflected", "plain"),
    [
        (lambda: 2 + X, lambda: b.add(2, X)),
        (lambda: 2 - X, lambda: b.sub(2, X)),
        (lambda: 2 * X, lambda: b.mul(2, X)),
        (lambda: 2 / NEW, lambda: b.div(2, NEW)),
        (lambda: NEW / 2, lambda: b.div(NEW, 2)),
    ],
)
def test_operators_keep_the_order_of_operands(reflected: Callable, plain: Callable):
    assert text(reflected()) == text(plain())


class Array:
    """What arrays have of what a literal needs."""

    def tolist(self) -> list[list[int]]:
        return [[1, 2], [3, 4]]


def test_literals_take_arrays():
    assert text(b.literal(Array(), "i64")) == text(b.literal([[1, 2], [3, 4]], "i64"))


def test_full_is_stored_once():
    assert "fill=0.0, shape=[99999, 99999]" in text(b.full((99999, 99999), 0, "f32"))


# Determinism


def test_inputs_stand_in_the_order_of_first_use():
    names = [f"w{i}" for i in range(50)]
    total = b.const_f32(0)
    for name in reversed(names):
        total = total + b.variable(name, "f32", ())
    lines = text(total).split("\n")
    assert [line.split("name=")[1].split("}")[0] for line in lines[:50]] == names[::-1]


def test_inputs_stand_as_listed_with_unused_ones():
    given = text(X + Y, inputs=[N, Y, X])
    assert [line.split("name=")[1][0] for line in given.split("\n")[:3]] == ["n", "y", "x"]


def test_the_same_program_gives_the_same_text_and_leaks_nothing():
    def program() -> str:
        x, w = b.variable("x", "f32", (2, 3)), b.variable("w", "f32", (3, 4))
        h = b.relu(x @ w)
        return text(b.sum(h * h), h)

    assert program() == program()
    h = X * 2
    assert text(h) == text(h), "an expression can be lowered into many modules"
    assert text(h + 0).count("Input") == 1


def test_a_shared_expression_is_emitted_once_and_equal_ones_are_not_merged():
    h = b.exp(X)
    assert text(h * h).count("Exp") == 1
    assert text(b.exp(X) * b.exp(X)).count("Exp") == 2
    assert text(h, h, h).endswith("outputs: %1, %1, %1")


def test_variables_of_one_name_and_type_are_one_input():
    again = b.variable("x", "f32", (2, 3))
    assert text(X + again) == text(X + X)


def test_doubling_is_linear():
    e = X
    for _ in range(1000):
        e = e + e
    assert text(e).count("\n") == 1001


def test_a_deep_expression_needs_no_recursion():
    e = X
    for _ in range(100_000):
        e = -e
    repr(e)
    module = b.program("deep", e)
    assert sum(1 for _ in module.walk()) == 100_003
    assert str(e) == "<Neg: f32[2, 3]>"


# Errors


@pytest.fixture
def no_ops(monkeypatch: pytest.MonkeyPatch):
    """Fails the test if an op comes to be."""

    def refuse(*_: object, **__: object):
        raise AssertionError("an op was made")

    monkeypatch.setattr(Operation, "__init__", refuse)


ILL_TYPED: list[tuple[Callable[[], object], str]] = [
    (lambda: b.variable("", "f32", ()), "E4004"),
    (lambda: b.variable(None, "f32", ()), "E4004"),
    (lambda: b.variable("x", "f16", ()), "E2005"),
    (lambda: b.variable("x", None, ()), "E2005"),
    (lambda: b.variable("x", "f32", (0,)), "E3006"),
    (lambda: b.variable("x", "f32", 3), "E4000"),
    (lambda: b.variable("x", "f32", (2.0,)), "E4000"),
    (lambda: b.variable("x", "f32", (10**5000,)), "E4000"),
    (lambda: b.variable("x", "f32", (2,), profile="core-v2"), "E7001"),
    (lambda: X + N, "E2004"),
    (lambda: X + b.variable("w", "f32", (4,)), "E3001"),
    (lambda: X @ X, "E3003"),
    (lambda: X @ Y, "E3002"),
    (lambda: X @ 2, "E3002"),
    (lambda: OLD / Y, "E6003"),
    (lambda: 1 / OLD, "E6003"),
    (lambda: OLD + X / Y, "E6003"),
    (lambda: b.program("f", OLD, X / Y), "E6003"),
    (lambda: b.program("f", X / Y, inputs=[X, Y, OLD]), "E6003"),
    (lambda: X + "y", "E2001"),
    (lambda: X + None, "E2001"),
    (lambda: b.add(X, [1, 2]), "E2001"),
    (lambda: X + True, "E4005"),
    (lambda: I32 * 2.5, "E4005"),
    (lambda: I32 + 2**40, "E4005"),
    (lambda: X * 1e39, "E4005"),
    (lambda: X * 10**5000, "E4005"),
    (lambda: b.add(1, 2), "E2003"),
    (lambda: b.relu(1.0), "E2003"),
    (lambda: b.relu(None), "E2001"),
    (lambda: b.relu(N), "E2005"),
    (lambda: b.log(I32), "E2005"),
    (lambda: b.sum(X, [2]), "E3004"),
    (lambda: b.sum(X, [-3]), "E3004"),
    (lambda: b.sum(OLD, [-1]), "E3004"),
    (lambda: b.sum(X, [0, 0]), "E3005"),
    (lambda: b.sum(X, 1), "E4000"),
    (lambda: b.sum(X, [0], keepdims=1), "E4000"),
    (lambda: b.sum(5, [0]), "E2003"),
    (lambda: b.reshape(X, [4]), "E3007"),
    (lambda: b.transpose(X, [0, 0]), "E3008"),
    (lambda: b.squeeze(X, [0]), "E3009"),
    (lambda: b.index(X, [0]), "E4006"),
    (lambda: b.slice(X, [0], [1]), "E4007"),
    (lambda: b.slice(X, [0, 0], [1, 1], [1, 0]), "E4008"),
    (lambda: b.slice(X, [0, 0], [1, 9]), "E4012"),
    (lambda: b.slice(X, [0, 0], [1, -1]), "E4012"),
    (lambda: b.slice(X / Y, [0, 0], [1, -1]), "E4012"),
    (lambda: b.slice(3, [0], [1]), "E2003"),
    (lambda: b.slice(X, 0, 1), "E4000"),
    (lambda: b.gather(X, X), "E4011"),
    (lambda: b.dot(IMAGE, Y), "E3002"),
    (lambda: b.conv2d(IMAGE, FILTER, strides=(1, 0)), "E4010"),
    (lambda: b.conv2d(IMAGE, FILTER, padding="Most"), "E4013"),
    (lambda: b.conv2d(IMAGE, FILTER, padding=3), "E4013"),
    (lambda: b.conv2d(IMAGE, b.variable("f", "f32", (3, 3, 1, 1))), "E4009"),
    (lambda: b.literal([[1], [2, 3]], "f32"), "E3010"),
    (lambda: b.literal([1, "2"], "f32"), "E4005"),
    (lambda: b.literal("text", "f32"), "E4005"),
    (lambda: b.literal([1.5], "i32"), "E4005"),
    (lambda: b.literal([], "f32"), "E3006"),
    (lambda: b.literal(1, "q8"), "E2005"),
    (lambda: b.full((0,), 1, "f32"), "E3006"),
    (lambda: b.const_i64(1.5), "E4005"),
    (lambda: b.const_f32(1e39), "E4005"),
    (lambda: b.program("f", 3), "E2001"),
    (lambda: b.program("f", X, inputs=[Y]), "E2002"),
    (lambda: b.program("f", X, inputs=[X, X]), "E4004"),
    (lambda: b.program("f", X, inputs=[-X]), "E2001"),
    (lambda: b.program("f", X + b.variable("x", "f32", (3,))), "E4004"),
    (lambda: b.program("", X), "E4000"),
    (lambda: b.program(None, X), "E4000"),
]


ASKED_IN_PYTHON: list[tuple[Callable[[], object], str, str]] = [
    (lambda: bool(X), "E2001", "neither true nor false before the program runs"),
    (lambda: not X, "E2001", "run the program and look at its result"),
    (lambda: 1 if X + Y else 2, "E2001", "<Add: f32[2, 3]> is neither"),
    (lambda: X == Y, "E4000", "compare Python objects with `is`"),
    (lambda: X == X, "E4000", "no op that compares <variable 'x': f32[2, 3]> with <variable 'x': f32[2, 3]>"),
    (lambda: X != 2, "E4000", "with 2;"),
    (lambda: 2 == X, "E4000", "with 2;"),
    (lambda: X < "a" * 1000, "E4000", "..."),
    (lambda: X <= 0, "E4000", "with 0;"),
    (lambda: X > 0, "E4000", "with 0;"),
    (lambda: X >= 0, "E4000", "with 0;"),
    (lambda: 0 < X, "E4000", "with 0;"),
    (lambda: Y in [X, Y], "E4000", "compare Python objects with `is`"),
]


@pytest.mark.parametrize(("ask", "code", "hint"), ASKED_IN_PYTHON)
def test_what_python_would_decide_by_a_value_is_refused(ask: Callable[[], object], code: str, hint: str):
    with pytest.raises(MindError) as e:
        ask()
    assert e.value.code == code
    assert hint in e.value.message


def test_expressions_are_keys_by_identity():
    again = b.variable("x", "f32", (2, 3))
    assert {X: 1, again: 2}[X] == 1
    assert len({X, again, X}) == 2


@pytest.mark.usefixtures("no_ops")
@pytest.mark.parametrize(("make", "code"), ILL_TYPED, ids=[f"{i}-{row[1]}" for i, row in enumerate(ILL_TYPED)])
def test_ill_typed_expressions_raise_before_any_op_exists(make: Callable[[], object], code: str):
    with pytest.raises(MindError) as e:
        make()
    assert e.value.code == code
    assert len(str(e.value)) < 1000


def test_a_self_containing_list_is_refused():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(MindError, match="E4005"):
        b.literal(endless, "f32")


# Profiles


def test_the_profile_flows_from_variables_to_the_function():
    negative = b.sum(NEW + X, [-1])
    assert negative.shape == (2,)
    assert text(negative).startswith('# @main {mind.profile="core-v1.1"}')
    assert text(X, inputs=[X, NEW]).startswith('# @main {mind.profile="core-v1.1"}')
    assert text(X).startswith("%0")


@pytest.mark.parametrize(
    "make",
    [
        lambda: X / Y,
        lambda: 1 / X,
        lambda: b.sum(X / 2) + 1,
        lambda: b.sum(X, [-1]),
        lambda: b.mean(X, [-2]),
        lambda: b.expand_dims(X, [-1]),
        lambda: b.squeeze(b.expand_dims(X, [2]), [-1]),
        lambda: b.slice(b.sum(X, [-1]), [0], [1]),
    ],
)
def test_what_an_expression_uses_chooses_the_profile(make: Callable[[], b.Expression]):
    assert text(make()).startswith('# @main {mind.profile="core-v1.1"}')
    assert text(X, make(), Y).startswith('# @main {mind.profile="core-v1.1"}')


def test_a_stated_profile_holds_and_the_error_says_how_to_state_another():
    assert "mind.profile" not in text(OLD + X)
    assert text(b.slice(NEW, [0, -1], [1, 3])).startswith('# @main {mind.profile="core-v1.1"}')
    with pytest.raises(MindError, match=r"state profile='core-v1.1' for its variables, or no profile"):
        OLD / 2
    with pytest.raises(
        MindError, match=r"<Div: f32\[2, 3\]> uses what core-v1.1 has and core-v1, stated by another variable, lacks"
    ):
        OLD * (X / 2)


def test_several_functions_make_a_module():
    module = ModuleOp([b.function("f", X), b.function("g", -X)])
    verify(module)
    assert print_core_ir(module).count("# @") == 2
