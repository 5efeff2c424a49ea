"""What a constraint teaches `shape-infer`: decided against runs on all small shapes, and what must not be decided."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.parser import Parser

import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.verify import verify
from mind_passes.shape.infer import infer
from programs import context

S, E = "!shape.shape", "tensor<?xindex>"


def parse(text: str) -> ModuleOp:
    ctx = context()
    for dialect in (cf.Cf, scf.Scf):
        if ctx.get_optional_dialect(dialect.name) is None:
            ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    verify(module)
    return module


def kept(body: str, argument: str = S) -> list[str]:
    """The names of the values that constraints and questions still compute after inference."""
    module = parse(f"func.func @f(%a: {argument}, %b: {argument}, %c: {argument}, %p: i1) {{\n{body}\nfunc.return }}")
    infer(module)
    verify(module)
    names = ("shape.cstr", "shape.shape_eq", "shape.is_broadcastable")
    return [op.results[0].name_hint or "" for op in module.walk() if op.name.startswith(names)]


EQ = f"%w = shape.cstr_eq %a, %b : {S}, {S}\n"
BC = f"%w = shape.cstr_broadcastable %a, %b, %c : {S}, {S}, {S}\n"
MEET = f"%m = shape.meet %a, %b : {S}, {S} -> {S}\n"


@pytest.mark.parametrize(
    "body",
    [
        EQ + f"%v = shape.cstr_eq %b, %a : {S}, {S}",
        EQ + f"%v = shape.cstr_broadcastable %a, %b : {S}, {S}",
        EQ + f"%v = shape.is_broadcastable %a, %b : {S}, {S}",
        EQ + f"%v = shape.shape_eq %a, %b : {S}, {S}",
        EQ + MEET + f"%v = shape.cstr_eq %m, %a : {S}, {S}",
        EQ + f"%r = shape.broadcast %a, %b : {S}, {S} -> {S}\n%v = shape.cstr_eq %r, %a : {S}, {S}",
        BC + f"%v = shape.cstr_broadcastable %c, %a : {S}, {S}",
        BC + f"%v = shape.cstr_eq %a, %a : {S}, {S}",
        '%w = shape.cstr_require %p, "one"\n%v = shape.cstr_require %p, "two"',
        EQ + f'"scf.if"(%p) ({{ %v = shape.cstr_eq %a, %b : {S}, {S}\nscf.yield }}, {{ scf.yield }}) : (i1) -> ()',
        EQ + f"cf.br ^next\n^next:\n%v = shape.cstr_eq %a, %b : {S}, {S}",
    ],
)
def test_what_a_constraint_before_implies_goes(body: str) -> None:
    assert kept(body) == ["w"]


@pytest.mark.parametrize(
    "body",
    [
        f"%w = shape.cstr_broadcastable %a, %b : {S}, {S}\n%v = shape.cstr_eq %a, %b : {S}, {S}",
        f"%w = shape.cstr_broadcastable %a, %b : {S}, {S}\n" + EQ.replace("%w", "%v"),
        EQ + f"%v = shape.cstr_eq %a, %c : {S}, {S}",
        EQ + f"%v = shape.cstr_broadcastable %a, %c : {S}, {S}",
        f"%w = shape.cstr_broadcastable %a, %b : {S}, {S}\n%v = shape.cstr_broadcastable %a, %b, %c : {S}, {S}, {S}",
        f"%w = shape.cstr_eq %a, %a : {S}, {S}\n{MEET}%v = shape.cstr_eq %m, %a : {S}, {S}",
        f'"scf.if"(%p) ({{ {EQ} scf.yield }}, {{ scf.yield }}) : (i1) -> ()\n%v = shape.cstr_eq %a, %b : {S}, {S}',
        f'"scf.if"(%p) ({{ {EQ} scf.yield }}, {{ %v = shape.cstr_eq %a, %b : {S}, {S}\nscf.yield }}) : (i1) -> ()',
        f"cf.cond_br %p, ^left, ^right\n^left:\n{EQ}cf.br ^right\n^right:\n%v = shape.cstr_eq %a, %b : {S}, {S}",
        f'%w = shape.shape_eq %a, %b : {S}, {S}\n%u = shape.cstr_require %w, "why"\n%v = shape.cstr_eq %a, %b : {S}, {S}',
    ],
)
def test_what_is_not_implied_stays(body: str) -> None:
    names = kept(body)
    assert "w" in names
    assert "v" in names


def test_a_meet_alone_implies_nothing_as_its_result_may_be_invalid() -> None:
    assert kept(MEET + f"%v = shape.cstr_eq %m, %a : {S}, {S}") == ["v"]


def test_an_earlier_constraint_is_not_implied_by_a_later_one() -> None:
    assert kept(f"%v = shape.cstr_broadcastable %a, %b : {S}, {S}\n{EQ}") == ["v", "w"]


def test_functions_do_not_teach_each_other() -> None:
    one = f"func.func @NAME(%a: {S}, %b: {S}) {{ {EQ} func.return }}"
    module = parse(one.replace("NAME", "f") + "\n" + one.replace("NAME", "g"))
    infer(module)
    assert str(module).count("cstr_eq") == 2


OPS = (
    f"%v{{n}} = shape.cstr_eq %{{x}}, %{{y}} : {S}, {S}",
    f"%v{{n}} = shape.cstr_broadcastable %{{x}}, %{{y}} : {S}, {S}",
    f"%v{{n}} = shape.cstr_broadcastable %{{x}}, %{{y}}, %{{z}} : {S}, {S}, {S}",
    f"%s{{n}} = shape.meet %{{x}}, %{{y}} : {S}, {S} -> {S}",
    f"%s{{n}} = shape.broadcast %{{x}}, %{{y}} : {S}, {S} -> {S}",
    f"%s{{n}} = shape.any %{{x}}, %{{y}} : {S}, {S} -> {S}",
)


def random_body(rng: random.Random) -> str:
    lines: list[str] = []
    shapes = ["a", "b", "c"]
    for n in range(rng.randint(3, 6)):
        line = rng.choice(OPS)
        x, y, z = (rng.choice(shapes) for _ in range(3))
        lines.append(line.format(n=n, x=x, y=y, z=z))
        if line.startswith("%s"):
            shapes.append(f"s{n}")
    return "\n".join(lines)


def runner(module: ModuleOp) -> Interpreter:
    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    return interpreter


def passes(interpreter: Interpreter, arguments: tuple[Any, ...]) -> bool:
    try:
        interpreter.call_op("f", arguments)
    except MindError:
        return False
    return True


def test_random_programs_fail_for_the_same_shapes_before_and_after() -> None:
    rng, fewer = random.Random(0), 0
    values = [(1,), (2,), (3,), (1, 2)]
    for _ in range(40):
        text = f"func.func @f(%a: {S}, %b: {S}, %c: {S}) {{\n{random_body(rng)}\nfunc.return }}"
        before, after = parse(text), parse(text)
        infer(after)
        verify(after)
        fewer += str(after).count("cstr") < str(before).count("cstr")
        original, changed = runner(before), runner(after)
        for arguments in product(values, repeat=3):
            assert passes(original, arguments) == passes(changed, arguments), (text, arguments)
    assert fewer > 8
