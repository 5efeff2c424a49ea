"""Lanes that a scalar function computes again, one after the other, in a branch that is rarely taken."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Function, suffix, symbol
from ..lanes import Lanes


def where_any(lanes: Lanes, type: str, is_rare: str, x: str, found: str, name: str, one: Callable[[], str]) -> str:
    """Emit `found`, with the value of the function that `one` defines and names in the lanes in which `is_rare` is true."""
    f, of, called = lanes.function, lanes.of(type), _lane_by_lane(lanes, type, name, one)
    any_rare = lanes.any(is_rare)
    before, inside, after = f.block, f.label("rare"), f.label("joined")
    f.do(f"br i1 {any_rare}, label %{inside}, label %{after}")
    f.start(inside)
    replaced = f.op(f"call {of} {symbol(called)}({of} {x}, {of} {found}, {lanes.of('i1')} {is_rare})", lanes.hint)
    f.do(f"br label %{after}")
    f.start(after)
    return f.op(f"phi {of} [ {found}, %{before} ], [ {replaced}, %{inside} ]", lanes.hint)


def _lane_by_lane(lanes: Lanes, type: str, name: str, one: Callable[[], str]) -> str:
    """Return the name of the function that loops over the lanes, in memory: less to compile than all lanes in a row."""
    module, width, of = lanes.function.module, lanes.width, lanes.of(type)
    called = f"mind.{name}.rare.{suffix(type, width)}"
    if called in module.functions:
        return called
    scalar = one()
    made = module.function(called, of, [(of, "x"), (of, "found"), (lanes.of("i1"), "rare")])
    places = [made.op(f"alloca {t}, align 64", name) for t in (of, of, lanes.of("i8"))]
    flags = Lanes(made, lanes.host, width, hint=name).convert("zext", "i1", "i8", "%rare")
    for held, value, place in zip((of, of, lanes.of("i8")), ("%x", "%found", flags), places, strict=True):
        made.do(f"store {held} {value}, ptr {place}, align 64")
    for i in made.each("0", str(width)):
        flag = made.op(f"load i8, ptr {made.address('i8', places[2], i)}, align 1")
        made.when(made.op(f"icmp ne i8 {flag}, 0"), lambda i=i: _replace(made, type, scalar, i, places))
    made.ret(made.op(f"load {of}, ptr {places[1]}, align 64"))
    return called


def _replace(f: Function, type: str, scalar: str, i: str, places: list[str]) -> None:
    value = f.op(f"load {type}, ptr {f.address(type, places[0], i)}, align 4")
    new = f.op(f"call {type} {symbol(scalar)}({type} {value})")
    f.do(f"store {type} {new}, ptr {f.address(type, places[1], i)}, align 4")
