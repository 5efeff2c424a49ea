"""Random small functions over the shape dialect, with arguments: every op that has a value for known shapes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SHAPE, SIZE, INDEX, EXTENTS, I1, WITNESS = "!shape.shape", "!shape.size", "index", "tensor<?xindex>", "i1", "!shape.witness"
SMALL = (0, 1, 1, 2, 3, 4, 5)
LARGE = (2**31, 2**62, 2**63 - 1)


@dataclass
class Program:
    """A function as text, arguments to call it with, and of what types its results are."""

    text: str
    arguments: list[Any]
    results: list[str]
    ops: set[str] = field(default_factory=set)


class Maker:
    """Puts down ops on values of the kinds there are; `rank` of a shape is known to the maker."""

    def __init__(self, rng: random.Random, *, effects: bool = True):
        self.rng, self.effects = rng, effects
        self.lines: list[str] = []
        self.values: dict[str, list[tuple[str, int]]] = {k: [] for k in (SHAPE, SIZE, INDEX, EXTENTS, I1, WITNESS)}
        self.tensors: list[tuple[str, str]] = []
        self.ops: set[str] = set()
        self.count = 0

    def new(self, type: str, rank: int = 0) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.values[type].append((name, rank))
        return name

    def pick(self, *types: str) -> tuple[str, str, int]:
        type = self.rng.choice([t for t in types if self.values[t]])
        name, rank = self.rng.choice(self.values[type])
        return name, type, rank

    def shape(self) -> tuple[str, str, int]:
        return self.pick(SHAPE, EXTENTS)

    def size(self) -> tuple[str, str, int]:
        return self.pick(SIZE, INDEX)

    def line(self, result: str, op: str, rest: str) -> None:
        self.ops.add(op.strip('"'))
        self.lines.append(f"  {result} = {op} {rest}")

    # One method per group of ops

    def constant(self) -> None:
        n = self.rng.choice(SMALL if self.rng.random() < 0.93 else LARGE)
        match self.rng.randrange(8):
            case 0:
                self.line(self.new(SIZE), "shape.const_size", f"{n}")
            case 1:
                self.line(self.new(INDEX), "arith.constant", f"{self.rng.choice((n, -1, -2))} : index")
            case 2 | 3:
                extents = [self.rng.choice(SMALL) for _ in range(self.rng.randrange(4))]
                self.line(self.new(SHAPE, len(extents)), "shape.const_shape", f"{extents} : !shape.shape")
            case 4:
                self.line(self.new(SHAPE, 1), "shape.constant", f"[{n}] : !shape.shape")
            case 5:
                self.line(self.new(SIZE), '"shape.constant_dim"', f"() {{value = {n} : i64}} : () -> !shape.size")
            case place:
                op, element = ("shape.create_shape", "i32") if place == 6 else ("shape.value_as_shape", "index")
                self.count += 1
                source, type, arrow = f"%s{self.count}", f"tensor<2x{element}>", "" if place == 6 else " -> !shape.shape"
                listed = [self.rng.choice((*SMALL, *SMALL, -1)) for _ in range(2)]
                self.line(source, "arith.constant", f"dense<{listed}> : {type}")
                self.line(self.new(SHAPE, 2), op, f"{source} : {type}{arrow}")

    def arithmetic(self) -> None:
        op = self.rng.choice(("add", "mul", "div"))
        (a, ta, _), (b, tb, _) = self.size(), self.size()
        result = SIZE if SIZE in (ta, tb) else self.rng.choice((SIZE, INDEX))
        if result == INDEX and not self.effects:
            result = SIZE
        self.line(self.new(result), f"shape.{op}", f"{a}, {b} : {ta}, {tb} -> {result}")

    def extremum(self) -> None:
        op = self.rng.choice(("shape.max", "shape.min"))
        type = self.rng.choice((SIZE, SHAPE))
        if not self.values[type]:
            return
        (a, _, rank), (b, _, _) = self.pick(type), self.pick(type)
        self.line(self.new(type, rank), op, f"{a}, {b} : {type}, {type} -> {type}")

    def conversion(self) -> None:
        if self.rng.random() < 0.5:
            self.line(self.new(SIZE), "shape.index_to_size", self.pick(INDEX)[0])
        elif self.effects and self.values[SIZE]:
            self.line(self.new(INDEX), "shape.size_to_index", f"{self.pick(SIZE)[0]} : {SIZE}")

    def broadcast(self) -> None:
        picked = [self.shape() for _ in range(self.rng.choice((1, 2, 2, 3)))]
        rank = max(r for *_, r in picked)
        result = SHAPE if SHAPE in {t for _, t, _ in picked} else self.rng.choice((SHAPE, EXTENTS))
        if result == EXTENTS and not self.effects:
            result = SHAPE
        names, types = ", ".join(p[0] for p in picked), ", ".join(p[1] for p in picked)
        self.line(self.new(result, rank), "shape.broadcast", f"{names} : {types} -> {result}")

    def same(self) -> None:
        a, type, rank = self.shape()
        self.line(self.new(type, rank), "shape.any", f"{a}, {a} : {type}, {type} -> {type}")

    def meet(self) -> None:
        op = self.rng.choice(("shape.meet", "shape.join"))
        if self.rng.random() < 0.5:
            (a, ta, rank), (b, tb, _) = self.shape(), self.shape()
            result = SHAPE
        else:
            (a, ta, rank), (b, tb, _) = self.size(), self.size()
            result = SIZE
        error = self.rng.choice(("", ', error = "they differ"'))
        self.line(self.new(result, rank), op, f"{a}, {b}{error} : {ta}, {tb} -> {result}")

    def concat(self) -> None:
        (a, ta, m), (b, tb, n) = self.shape(), self.shape()
        if m + n < 8:
            self.line(self.new(SHAPE, m + n), "shape.concat", f"{a}, {b} : {ta}, {tb} -> {SHAPE}")

    def split(self) -> None:
        a, type, rank = self.shape()
        place = self.rng.randint(-rank, rank)
        self.count += 1
        at = f"%s{self.count}"
        self.line(at, "arith.constant", f"{place} : index")
        head = place if place >= 0 else place + rank
        first, second = self.new(SHAPE, head), self.new(SHAPE, rank - head)
        self.line(f"{first}, {second}", '"shape.split_at"', f"({a}, {at}) : ({type}, index) -> ({SHAPE}, {SHAPE})")

    def from_extents(self) -> None:
        picked = [self.size() for _ in range(self.rng.randint(1, 3))]
        names, types = ", ".join(p[0] for p in picked), ", ".join(p[1] for p in picked)
        self.line(self.new(SHAPE, len(picked)), "shape.from_extents", f"{names} : {types}")

    def extents(self) -> None:
        a, type, rank = self.shape()
        if type == EXTENTS:
            self.line(self.new(SHAPE, rank), "shape.from_extent_tensor", f"{a} : {type}")
        elif self.effects:
            self.line(self.new(EXTENTS, rank), "shape.to_extent_tensor", f"{a} : {type} -> {EXTENTS}")

    def reading(self) -> None:
        op = self.rng.choice(("get_extent", "get_extent", "rank", "num_elements"))
        a, type, rank = self.shape()
        result = SIZE if type == SHAPE or not self.effects else self.rng.choice((SIZE, INDEX))
        if op != "get_extent":
            self.line(self.new(result), f"shape.{op}", f"{a} : {type} -> {result}")
            return
        at, place = self.size(), self.rng.random()
        if place < 0.7 and rank:
            self.count += 1
            at = f"%s{self.count}", INDEX, 0
            self.line(at[0], "arith.constant", f"{self.rng.randrange(rank)} : index")
        result = SIZE if at[1] == SIZE else result
        self.line(self.new(result), "shape.get_extent", f"{a}, {at[0]} : {type}, {at[1]} -> {result}")

    def of_tensor(self) -> None:
        name, type = self.rng.choice(self.tensors)
        rank = type.count("x")
        if self.rng.random() < 0.6 or not rank:
            result = self.rng.choice((SHAPE, EXTENTS))
            self.line(self.new(result, rank), "shape.shape_of", f"{name} : {type} -> {result}")
        else:
            at, kind, _ = self.size()
            self.line(self.new(SIZE), "shape.dim", f"{name}, {at} : {type}, {kind} -> {SIZE}")

    def paired(self) -> None:
        name, type = self.rng.choice(self.tensors)
        a, kind, rank = self.shape()
        self.count += 1
        pair = f"%p{self.count}"
        self.line(pair, "shape.with_shape", f"{name}, {a} : {type}, {kind}")
        self.line(self.new(SHAPE, rank), "shape.shape_of", f"{pair} : !shape.value_shape -> {SHAPE}")
        if self.effects:
            self.count += 1
            self.line(f"%t{self.count}", "shape.value_of", f"{pair} : {type}")
            self.tensors.append((f"%t{self.count}", type))

    def truth(self) -> None:
        op = self.rng.choice(("shape.shape_eq", "shape.is_broadcastable"))
        picked = [self.shape() for _ in range(self.rng.choice((1, 2, 2, 3)))]
        names, types = ", ".join(p[0] for p in picked), ", ".join(p[1] for p in picked)
        self.line(self.new(I1), op, f"{names} : {types}")

    def constraint(self) -> None:
        if not self.effects:
            return
        if self.values[I1] and self.rng.random() < 0.3:
            self.line(self.new(WITNESS), "shape.cstr_require", f'{self.pick(I1)[0]}, "required"')
            return
        op = self.rng.choice(("shape.cstr_eq", "shape.cstr_broadcastable"))
        picked = [self.shape() for _ in range(2)]
        if self.rng.random() < 0.6:
            picked[1] = picked[0]
        names, types = ", ".join(p[0] for p in picked), ", ".join(p[1] for p in picked)
        self.line(self.new(WITNESS), op, f"{names} : {types}")

    def witnesses(self) -> None:
        if not self.values[WITNESS]:
            self.line(self.new(WITNESS), "shape.const_witness", "true")
            return
        a, b = self.pick(WITNESS)[0], self.pick(WITNESS)[0]
        self.line(self.new(WITNESS), "shape.assuming_all", f"{a}, {b}")

    def assuming(self) -> None:
        if not self.values[WITNESS]:
            return
        w, (a, type, rank) = self.pick(WITNESS)[0], self.shape()
        b, kind, _ = self.shape()
        result = self.new(SHAPE, 0)
        self.values[SHAPE].pop()
        body = f"{{ %i{self.count} = shape.broadcast {a}, {b} : {type}, {kind} -> {SHAPE}\n"
        body += f"    shape.assuming_yield %i{self.count} : {SHAPE} }}"
        self.line(result, "shape.assuming", f"{w} -> ({SHAPE}) {body}")
        self.values[SHAPE].append((result, max(rank, _)))

    def reduce(self) -> None:
        (a, type, _), (start, _, _) = self.shape(), self.pick(SIZE) if self.values[SIZE] else ("", "", 0)
        if not start:
            return
        op = self.rng.choice(("mul", "add", "max"))
        extent = SIZE if type == SHAPE else INDEX
        counter = self.rng.choice(("index", "i32"))
        result = self.new(SIZE)
        n = self.count
        body = f"^bb0(%i{n}: {counter}, %d{n}: {extent}, %c{n}: {SIZE}):\n"
        other = f"%d{n}"
        if op == "max" and extent == INDEX:
            op = "add"
        body += f"    %m{n} = shape.{op} {other}, %c{n} : {extent}, {SIZE} -> {SIZE}\n"
        body += f"    shape.{'yield' if counter == 'index' else 'return'} %m{n} : {SIZE}"
        self.line(result, "shape.reduce", f"({a}, {start}) : {type} -> {SIZE} {{\n  {body}\n  }}")

    def printed(self) -> None:
        a, type, rank = self.pick(SHAPE, SIZE)
        self.line(self.new(type, rank), '"shape.debug_print"', f"({a}) : ({type}) -> {type}")


GROUPS = (
    "constant arithmetic arithmetic extremum conversion broadcast broadcast same meet concat split from_extents extents reading "
    "reading of_tensor paired truth constraint witnesses assuming reduce"
).split()


def program(rng: random.Random, *, ops: int = 12, effects: bool = True, prints: bool = False) -> Program:
    """A function `f` of a few tensors, sizes and lists, and arguments; without `effects` it cannot fail but by its results."""
    maker, arguments, signature = Maker(rng, effects=effects), list[Any](), list[str]()
    for i in range(rng.randint(1, 3)):
        extents = tuple(rng.choice(SMALL) for _ in range(rng.randrange(4)))
        dims = "".join(f"{n if rng.random() < 0.4 else '?'}x" for n in extents)
        maker.tensors.append((f"%x{i}", f"tensor<{dims}f32>"))
        signature.append(f"%x{i}: tensor<{dims}f32>")
        arguments.append(np.zeros(extents, np.float32))
        maker.line(maker.new(EXTENTS, len(extents)), "shape.shape_of", f"%x{i} : tensor<{dims}f32> -> {EXTENTS}")
        maker.line(maker.new(SHAPE, len(extents)), "shape.shape_of", f"%x{i} : tensor<{dims}f32> -> {SHAPE}")
    for name, type in (("%n", SIZE), ("%i", INDEX)):
        signature.append(f"{name}: {type}")
        arguments.append(rng.choice(SMALL) if type == SIZE else rng.choice((-1, 0, 1, 2, 3)))
        maker.values[type].append((name, 0))
    if effects:
        length = rng.randrange(3)
        signature.append(f"%e: tensor<{length}xindex>")
        arguments.append(np.array([rng.choice((*SMALL, *SMALL, -1)) for _ in range(length)], np.int64))
        maker.line(maker.new(SHAPE, length), "shape.from_extent_tensor", f"%e : tensor<{length}xindex>")
    groups = [*GROUPS, "printed"] if prints else GROUPS
    for _ in range(ops):
        getattr(maker, rng.choice(groups))()
    kinds = (SHAPE, SIZE, INDEX, I1, EXTENTS) if effects else (SHAPE, SIZE, I1)
    returned = [(name, kind) for kind in kinds for name, _ in maker.values[kind][-4:]]
    types = [kind for _, kind in returned]
    body = "\n".join(maker.lines)
    names = ", ".join(name for name, _ in returned)
    inputs, outputs = ", ".join(signature), ", ".join(types)
    text = f"func.func @f({inputs}) -> ({outputs}) {{\n{body}\n  func.return {names} : {outputs}\n}}\n"
    return Program(text, arguments, types, maker.ops)
