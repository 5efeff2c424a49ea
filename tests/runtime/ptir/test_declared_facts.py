"""What declarations and types of arguments prove of ops, held against the ops' own rules at every size that they allow."""

from __future__ import annotations

import itertools
import random
from typing import cast

import numpy as np
import pytest
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions

import mind_runtime
from mind_dialect import ptir
from mind_dialect.declared_dims import NO_FACTS, facts_around, function_facts
from mind_dialect.errors import MindError
from mind_dialect.extents import parse_declaration
from mind_dialect.extents.dims import size_in
from mind_dialect.program import functions
from mind_dialect.ptir.types import read_type
from mind_dialect.verify import failures, verify
from mind_lowering.dynamic_dims import needs_check, rule_arguments
from mind_lowering.xp.arguments import SizeArgument
from mind_tools.frontends import parse

ARGUMENTS = '%x: tensor<?x?xf32, "B,T">, %y: tensor<?xf32, "N">, %z: tensor<?xf32, "T">'
CASES = {
    "slice": 'ptir.slice %y starts = [S] sizes = [Z] : tensor<?xf32, "N"> -> tensor<DZf32>',
    "strided slice": 'ptir.strided_slice %y starts = [S] limits = [Z] strides = [1] : tensor<?xf32, "N"> -> tensor<?xf32>',
    "pad": 'ptir.pad %y low = [S] high = [Z] interior = [0] pad_value = 0.0 : f32 : tensor<?xf32, "N"> -> tensor<?xf32>',
    "add": 'ptir.add %y, %z : (tensor<?xf32, "N">, tensor<?xf32, "T">) -> tensor<?xf32, "N">',
    "reshape": 'ptir.reshape %x new_shape = [S, Z] : tensor<?x?xf32, "B,T"> -> tensor<?x?xf32, "DS,DZ">',
    "broadcast": 'ptir.broadcast_to %y result_shape = [S] : tensor<?xf32, "N"> -> tensor<?xf32, "DS">',
    "concat": 'ptir.concat %x, %x2 axis = 0 : (tensor<?x?xf32, "B,T">, tensor<?x?xf32, "B,N">) -> tensor<?x?xf32, "2*B,T">',
    "product": "ptir.dot_general %x, %y batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]"
    ' : (tensor<?x?xf32, "B,T">, tensor<?xf32, "N">) -> tensor<?xf32, "B">',
}
FACTS = (
    "N == T",
    "N >= T",
    "T in 2..4",
    "N == B*T",
    "T % 2 == 0",
    "N == 2*B",
    "B + T <= N",
    "N != 1",
    "B < 3",
    "N == T+1",
    "T > 5",
)
DIMS = ("B", "T", "2", "N-2", "N", "T-1", "2*B", "B*T", "T floordiv 2", "N-T", "-1*B")


def dimension(dim: str) -> str:
    return f"{dim}x" if dim.isdecimal() else "?x"


def program(kind: str, facts: tuple[str, ...], start: str, size: str) -> str:
    """A function with one op, unknown dimensions where the rule would give a size."""
    quoted = [d if d.isidentifier() or d.isdecimal() else f'"{d}"' for d in (start, size)]
    op = CASES[kind].replace("[S", f"[{quoted[0]}").replace("Z]", f"{quoted[1]}]")
    if kind == "reshape" or kind == "broadcast":
        given = [start, size][: 2 if kind == "reshape" else 1]
        shape = "x".join("?" if not d.isdecimal() else d for d in given)
        names = ",".join("*" if d.isdecimal() else d for d in given)
        encoding = f', "{names}"' if "?" in shape else ""
        op = f"{op[: op.rindex('->')]}-> tensor<{shape}xf32{encoding}>"
    elif kind == "slice":
        result = f"tensor<{size}xf32>" if size.isdecimal() else f'tensor<?xf32, "{size}">'
        op = f"{op[: op.rindex('->')]}-> {result}"
    declared = ", ".join(f'"{fact}"' for fact in facts)
    result = op[op.rindex("->") + 3 :]
    more = ', %x2: tensor<?x?xf32, "B,N">' if kind == "concat" else ""
    return (
        'builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {\n'
        f"func.func @f({ARGUMENTS}{more}) -> {result} attributes {{mind.dims = [{declared}]}} {{\n"
        f"  %r = {op}\n  func.return %r : {result}\n}}\n}}"
    )


def holds_for(op: ptir.PtirOp, sizes: dict[str, int]) -> bool:
    """Whether the op's rule takes the shapes that dimensions have for sizes of names, and gives one that can be."""

    def static(dims: tuple[int | str, ...]) -> tuple[int, ...]:
        found = [size_in(d, sizes) for d in dims]
        assert None not in found
        return tuple(n for n in found if n is not None)

    given = rule_arguments(op)
    arguments = {name: static(cast("tuple[int | str, ...]", v)) if isinstance(v, tuple) else v for name, v in given.items()}
    assert not any(isinstance(v, SizeArgument) for v in arguments.values())
    try:
        type(op).RULE(*(static(read_type(v.type).shape) for v in op.operands), **arguments)
    except MindError:
        return False
    return True


def allowed(facts: tuple[str, ...], limit: int = 7) -> list[dict[str, int]]:
    points = [dict(zip("BNT", p, strict=True)) for p in itertools.product(range(limit), repeat=3)]
    declared = [parse_declaration(fact) for fact in facts]
    return [p for p in points if all(d.holds(p) for d in declared)]


@pytest.mark.parametrize("kind", CASES)
def test_what_is_decided_is_so_for_every_size_that_facts_allow(kind: str) -> None:
    rng = random.Random(kind)
    decided = {"proven": 0, "refused": 0}
    for _ in range(150):
        facts = tuple(rng.sample(FACTS, rng.randint(1, 2)))
        points = allowed(facts)
        module = parse(program(kind, facts, rng.choice(DIMS), rng.choice(DIMS)))
        found = list(failures(module))
        if any(e.code == "E8009" for e in found):
            assert not points, facts
            continue
        op = next(op for op in module.walk() if isinstance(op, ptir.PtirOp))
        if any(e.code in ("E2001", "E8001", "E4015", "E3002") for e in found):
            continue  # a spelling that is not canonical, or a declared result that differs
        if found:
            decided["refused"] += 1
            assert not any(holds_for(op, p) for p in points), (facts, str(op))
        elif not needs_check(op, declared=True):
            decided["proven"] += 1
            assert all(holds_for(op, p) for p in points), (facts, str(op))
    assert decided["proven"] > 0


@pytest.mark.parametrize(
    ("kind", "facts", "start", "size"),
    [
        ("slice", ("N >= 8",), "2", "6"),
        ("slice", ("N >= B + T",), "B", "T"),
        ("pad", ("T >= 1",), "T-1", "0"),
        ("add", ("N == T",), "0", "0"),
        ("reshape", ("N == B*T",), "N", "1"),
        ("concat", ("T == N",), "0", "0"),
        ("product", ("N == T",), "0", "0"),
        ("broadcast", ("N == T",), "T", "0"),
        ("strided slice", ("B in 0..4", "N >= 8"), "0", "2*B"),
    ],
)
def test_what_facts_prove_needs_no_check(kind: str, facts: tuple[str, ...], start: str, size: str) -> None:
    for declared, checked in ((facts, False), (("B >= 0",), True)):
        module = parse(program(kind, declared, start, size))
        verify(module)
        op = next(op for op in module.walk() if isinstance(op, ptir.PtirOp))
        assert needs_check(op, declared=True) is checked
        assert needs_check(op), "printed code runs without a guard"


@pytest.mark.parametrize(
    ("kind", "facts", "start", "size", "code"),
    [
        ("slice", ("N <= 4",), "0", "6", "E4012"),
        ("slice", ("N < T",), "0", "T", "E4012"),
        ("pad", ("T == 0",), "T-1", "0", "E8002"),
        ("add", ("N > T",), "0", "0", "E3001"),
        ("reshape", ("N > B*T",), "N", "1", "E3007"),
        ("concat", ("T != N",), "0", "0", "E3003"),
        ("product", ("N >= 5", "T <= 4"), "0", "0", "E3003"),
    ],
)
def test_what_facts_refute_is_refused(kind: str, facts: tuple[str, ...], start: str, size: str, code: str) -> None:
    with pytest.raises(MindError) as found:
        verify(parse(program(kind, facts, start, size)))
    assert found.value.code == code
    verify(parse(program(kind, ("B >= 0",), start, size)))


def test_names_that_facts_make_equal_may_stand_for_each_other() -> None:
    text = program("add", ("N == T",), "0", "0").replace('-> tensor<?xf32, "N">', '-> tensor<?xf32, "T">')
    text = text.replace('func.return %r : tensor<?xf32, "N">', 'func.return %r : tensor<?xf32, "T">')
    run = mind_runtime.compile(parse(text))
    x, y = np.zeros((1, 2), np.float32), np.ones(2, np.float32)
    np.testing.assert_array_equal(run(x, y, y), 2 * y)
    with pytest.raises(MindError) as found:
        verify(parse(text.replace("N == T", "N >= T")))
    assert found.value.code == "E4015"


def test_dimensions_of_arguments_are_at_least_zero() -> None:
    text = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<?xf32, "N">, %y: tensor<?xf32, "N-2">) -> tensor<2xf32> {
  %r = ptir.slice %x starts = ["N-2"] sizes = [2] : tensor<?xf32, "N"> -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}
}"""
    module = parse(text)
    verify(module)
    op = next(op for op in module.walk() if isinstance(op, ptir.SliceOp))
    assert not needs_check(op)
    with pytest.raises(MindError, match=r"N-2 as dimension 0 of argument 1\) contradicts N <= 1") as found:
        verify(parse(text.replace("-> tensor<2xf32> {", '-> tensor<2xf32> attributes {mind.dims = ["N <= 1"]} {')))
    assert found.value.code == "E8009"


def test_a_function_has_one_store_until_it_declares_otherwise() -> None:
    module = parse(program("add", ("N == T",), "0", "0"))
    (func,) = functions(module)
    facts = function_facts(func)
    op = next(op for op in module.walk() if isinstance(op, ptir.PtirOp))
    assert facts_around(op) is facts
    assert function_facts(func) is facts
    del func.attributes["mind.dims"]
    assert function_facts(func) is NO_FACTS


@pytest.mark.parametrize(
    ("facts", "sizes", "code"),
    [(("N == T",), (1, 5, 1, 5), "E8010"), (("N == T",), (1, 5, 5, 1), "E8001"), (("N == T",), (1, 5, 5, 5), None)],
)
def test_the_interpreter_checks_what_the_proofs_rely_on(facts: tuple[str, ...], sizes: tuple[int, ...], code: str | None) -> None:
    """Sums of unequal sizes would broadcast: nothing checks them where the facts prove them equal."""
    module = parse(program("add", facts, "0", "0"))
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    mind_runtime.register_implementations(interpreter)
    rows, columns, n, t = sizes
    arguments = (np.ones((rows, columns), np.float32), np.ones(n, np.float32), np.ones(t, np.float32))
    if code is None:
        np.testing.assert_array_equal(interpreter.call_op("f", arguments)[0], np.full(n, 2))
        return
    with pytest.raises(MindError) as found:
        interpreter.call_op("f", arguments)
    assert found.value.code == code
