"""
Arithmetic of lanes of one float type, as the functions of this package need it.

Every step is an instruction whose rounding is known: a fused product is asked for by name, and where the machine has none, `fma`
is two roundings and `exact_fma` is done by other means. So a result depends on the operand and the machine, never on the number
of other lanes; the shortcuts for full vectors give the same bits as the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mind_dialect.lazy_dataclass import dataclass

from ..ir import float_text, suffix, symbol
from ..lanes import Lanes

PIECES = 16
"""Number of rows of a table."""
_REGISTER = 64


@dataclass(frozen=True)
class Reals:
    """Lanes of `type`, `float` or `double`."""

    lanes: Lanes
    type: str

    # The type

    @property
    def double(self) -> bool:
        """Return whether it is f64."""
        return self.type == "double"

    @property
    def integer(self) -> str:
        """The integer type of as many bits."""
        return "i64" if self.double else "i32"

    @property
    def digits(self) -> int:
        """Bits of the significand in memory."""
        return 52 if self.double else 23

    @property
    def bias(self) -> int:
        """Of the exponent."""
        return 1023 if self.double else 127

    @property
    def size(self) -> int:
        """Bytes of all lanes."""
        return self.lanes.width * (8 if self.double else 4)

    @property
    def full(self) -> bool:
        """Return whether the lanes fill registers of 512 bits."""
        return self.lanes.host.has_avx512 and self.size >= _REGISTER and self.lanes.width & (self.lanes.width - 1) == 0

    # Instructions

    def c(self, value: float) -> str:
        """A constant."""
        return self.lanes.number(self.type, value)

    def i(self, value: int) -> str:
        """A constant of the integer type."""
        return self.lanes.number(self.integer, value)

    def add(self, a: str, b: str) -> str:
        """`a + b`."""
        return self.lanes.binary("fadd", self.type, a, b)

    def sub(self, a: str, b: str) -> str:
        """`a - b`."""
        return self.lanes.binary("fsub", self.type, a, b)

    def mul(self, a: str, b: str) -> str:
        """`a * b`."""
        return self.lanes.binary("fmul", self.type, a, b)

    def div(self, a: str, b: str) -> str:
        """`a / b`."""
        return self.lanes.binary("fdiv", self.type, a, b)

    def neg(self, x: str) -> str:
        """`-x`."""
        return self.lanes.op(f"fneg {self.lanes.of(self.type)} {x}")

    def abs(self, x: str) -> str:
        """`|x|`."""
        return self.lanes.intrinsic("fabs", self.type, x)

    def sqrt(self, x: str) -> str:
        """The square root, rounded right."""
        return self.lanes.intrinsic("sqrt", self.type, x)

    def with_sign_of(self, x: str, sign: str) -> str:
        """`|x|` with the sign of another."""
        return self.lanes.intrinsic("copysign", self.type, x, sign)

    def where(self, test: str, a: str, b: str) -> str:
        """`a` where a vector of i1 is true, else `b`."""
        return self.lanes.select(test, self.type, a, b)

    def test(self, code: str, a: str, b: str) -> str:
        """A comparison of floats."""
        return self.lanes.compare(f"fcmp {code}", self.type, a, b)

    def at_most(self, x: str, bound: float) -> str:
        """The less of `x` and a bound; NaN stays."""
        return self.where(self.test("olt", self.c(bound), x), self.c(bound), x)

    def at_least(self, x: str, bound: float) -> str:
        """The greater of `x` and a bound; NaN stays."""
        return self.where(self.test("ogt", self.c(bound), x), self.c(bound), x)

    def bits(self, x: str) -> str:
        """The bits of a float."""
        return self.lanes.convert("bitcast", self.type, self.integer, x)

    def of_bits(self, bits: str) -> str:
        """The float of some bits."""
        return self.lanes.convert("bitcast", self.integer, self.type, bits)

    def on_bits(self, code: str, a: str, b: str | int) -> str:
        """An integer instruction."""
        return self.lanes.binary(code, self.integer, a, self.i(b) if isinstance(b, int) else b)

    # Products and sums with their errors

    def fma(self, a: str, b: str, c: str) -> str:
        """`a * b + c`, rounded once where the machine can."""
        if self.lanes.host.fma:
            return self.lanes.intrinsic("fma", self.type, a, b, c)
        return self.add(self.mul(a, b), c)

    def exact_fma(self, a: str, b: str, c: str) -> str:
        """`a * b + c`, rounded once (or so nearly that it makes no difference) on every machine."""
        if self.lanes.host.fma:
            return self.fma(a, b, c)
        if not self.double:
            wide = replace(self, type="double")
            a, b, c = (self.widened(v) for v in (a, b, c))
            return wide.narrowed(wide.add(wide.mul(a, b), c))
        product, error = self.two_product(a, b)
        total, rest = self.two_sum(product, c)
        return self.add(total, self.add(rest, error))

    def two_sum(self, a: str, b: str) -> tuple[str, str]:
        """`a + b` and its error (Knuth)."""
        total = self.add(a, b)
        b_part = self.sub(total, a)
        return total, self.add(self.sub(a, self.sub(total, b_part)), self.sub(b, b_part))

    def fast_two_sum(self, a: str, b: str) -> tuple[str, str]:
        """`a + b` and its error, where `a` is 0 or not less than `b` in magnitude (Dekker)."""
        total = self.add(a, b)
        return total, self.sub(b, self.sub(total, a))

    def two_product(self, a: str, b: str) -> tuple[str, str]:
        """`a * b` and its error; without a fused product the factors are split in halves (Veltkamp, Dekker)."""
        product = self.mul(a, b)
        if self.lanes.host.fma:
            return product, self.fma(a, b, self.neg(product))
        (a1, a2), (b1, b2) = self._halves(a), self._halves(b)
        error = self.sub(self.mul(a1, b1), product)
        error = self.add(self.add(error, self.mul(a1, b2)), self.mul(a2, b1))
        return product, self.add(error, self.mul(a2, b2))

    def _halves(self, x: str) -> tuple[str, str]:
        spread = self.mul(x, self.c(2.0 ** ((self.digits + 2) // 2) + 1))
        high = self.sub(spread, self.sub(spread, x))
        return high, self.sub(x, high)

    # Other types

    def widened(self, x: str) -> str:
        """f32 as f64."""
        return self.lanes.convert("fpext", "float", "double", x)

    def narrowed(self, x: str) -> str:
        """f64 as the nearest f32."""
        return self.lanes.convert("fptrunc", "double", "float", x)

    # Polynomials, tables, powers of two

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """The value at `x`, coefficients lowest power first; long ones in even and odd powers, side by side."""
        if len(coefficients) <= 5:
            return self._horner(x, [self.c(v) for v in coefficients])
        square = self.mul(x, x)
        even, odd = ([self.c(v) for v in coefficients[start::2]] for start in (0, 1))
        return self.fma(self._horner(square, odd), x, self._horner(square, even))

    def _horner(self, x: str, coefficients: Sequence[str]) -> str:
        found = coefficients[-1]
        for value in reversed(coefficients[:-1]):
            found = self.fma(found, x, value)
        return found

    def piecewise(self, name: str, x: str, step: float, rows: Sequence[Sequence[float]], steep: bool) -> str:
        """
        Of `x`, from 0 to 15.5 steps, the polynomial of its piece at the distance from the piece's middle; `rows` by power.

        `steep`: the first piece has the distance itself for its constant term, so that roundings of its slope matter less.
        """
        number, whole = self.nearest(x, 1 / step)
        distance = self.fma(whole, self.c(-step), x)
        constant, *others = (self.looked_up(f"{name}.{power}", row, number) for power, row in enumerate(rows))
        if steep:
            constant = self.where(self.test("oeq", whole, self.c(0)), distance, constant)
        return self.fma(self._horner(distance, others), distance, constant)

    def nearest(self, x: str, factor: float, offset: int = 0) -> tuple[str, str]:
        """The integer nearest to `x * factor`, less than 2^21: bits that end in it plus an even offset, and it as a float."""
        magic = 1.5 * 2.0**self.digits + offset
        shifted = self.fma(x, self.c(factor), self.c(magic))
        return self.bits(shifted), self.sub(shifted, self.c(magic))

    def looked_up(self, name: str, row: Sequence[float], index: str) -> str:
        """`row[index & 15]`, a row of 16; `name` is what the row is called where it is kept in memory."""
        lanes, of = self.lanes, self.lanes.of
        if self.full:
            return self.by_registers([index], [self.integer], lambda part, values: part._permuted(row, values[0]))
        if lanes.host.isa.startswith("avx") and not self.double and lanes.width == 8:
            return self._of_two_permuted(row, index)
        place = lanes.function.module.table(f"mind.{name}.{'f64' if self.double else 'f32'}", self.type, row)
        number = lanes.convert("zext", self.integer, "i64", self.on_bits("and", index, PIECES - 1))
        if lanes.width == 1:
            address = lanes.op(f"getelementptr {self.type}, ptr {place}, i64 {number}")
            return lanes.op(f"load {self.type}, ptr {address}, align {8 if self.double else 4}")
        addresses = lanes.op(f"getelementptr {self.type}, ptr {place}, {of('i64')} {number}")
        short = f"v{lanes.width}{'f64' if self.double else 'f32'}.v{lanes.width}p0"
        arguments = (
            (of("ptr"), addresses),
            ("i32", "8" if self.double else "4"),
            (of("i1"), lanes.number("i1", 1)),
            (of(self.type), "zeroinitializer"),
        )
        return lanes.function.call(f"llvm.masked.gather.{short}", of(self.type), *arguments, hint=lanes.hint, immediate=(1,))

    def _row(self, row: Sequence[float]) -> str:
        return "<" + ", ".join(f"{self.type} {float_text(v, self.type)}" for v in row) + ">"

    def _permuted(self, row: Sequence[float], index: str) -> str:
        """In registers of 512 bits; they look at the last four bits of the index alone."""
        f, of = self.lanes.function, self.lanes.of
        if not self.double:
            arguments = ((of("float"), self._row(row)), (of("i32"), index))
            return f.call("llvm.x86.avx512.permvar.sf.512", of("float"), *arguments, hint=self.lanes.hint)
        low, high = (of("double"), self._row(row[:8])), (of("double"), self._row(row[8:]))
        return f.call("llvm.x86.avx512.vpermi2var.pd.512", of("double"), low, (of("i64"), index), high, hint=self.lanes.hint)

    def _of_two_permuted(self, row: Sequence[float], index: str) -> str:
        """In registers of 256 bits: eight entries each, and the fourth bit chooses."""
        of, name = self.lanes.of, "llvm.x86.avx2.permps"
        low, high = (
            self.lanes.function.call(name, of("float"), (of("float"), self._row(part)), (of("i32"), index), hint=self.lanes.hint)
            for part in (row[:8], row[8:])
        )
        upper = self.lanes.compare("icmp slt", "i32", self.on_bits("shl", index, 28), self.i(0))
        return self.where(upper, high, low)

    def by_registers(self, operands: Sequence[str], types: Sequence[str], body: Callable[[Reals, Sequence[str]], str]) -> str:
        """`body` of each register's share of the operands, put together again."""
        if self.size <= _REGISTER:
            return body(self, operands)
        lanes, half = self.lanes, self.lanes.width // 2
        halves = replace(self, lanes=lanes.narrowed(half))
        found: list[str] = []
        for start in (0, half):
            places = ", ".join(f"i32 {start + k}" for k in range(half))
            parts = [
                lanes.op(f"shufflevector {lanes.of(t)} {v}, {lanes.of(t)} poison, <{half} x i32> <{places}>")
                for t, v in zip(types, operands, strict=True)
            ]
            found.append(halves.by_registers(parts, types, body))
        places, of = ", ".join(f"i32 {k}" for k in range(lanes.width)), halves.lanes.of(self.type)
        return lanes.op(f"shufflevector {of} {found[0]}, {of} {found[1]}, <{lanes.width} x i32> <{places}>")

    def special(self, name: str, operands: Sequence[str], *numbers: int) -> str:
        """An AVX-512 instruction on floats that takes numbers after its first operand: `getmant`, `getexp`, `scalef`."""

        def body(part: Reals, values: Sequence[str]) -> str:
            of = part.lanes.of(part.type)
            mask = ("i8", "-1") if part.double else ("i16", "-1")
            arguments = (
                [(of, v) for v in values] + [("i32", str(n)) for n in numbers] + [(of, "zeroinitializer"), mask, ("i32", "4")]
            )
            immediate = [i for i, (t, _) in enumerate(arguments) if t == "i32"]
            short = "pd" if part.double else "ps"
            called = f"llvm.x86.avx512.mask.{name}.{short}.512"
            return part.lanes.function.call(called, of, *arguments, hint=part.lanes.hint, immediate=immediate)

        return self.by_registers(operands, [self.type] * len(operands), body)

    def scaled(self, x: str, whole: str, number: str) -> str:
        """
        `x * 2^n`, rounded once, whatever comes of it; `whole` and `number` are from `nearest` with an offset of twice the bias.

        In two steps, the first exact, where no instruction does it: `x` is near 1. The halves of `number` are biased exponents.
        """
        if self.full:
            return self.special("scalef", [x, whole])
        first = self.on_bits("lshr", number, 1)
        return self.mul(self.mul(x, self.power_of_two(first)), self.power_of_two(self.on_bits("sub", number, first)))

    def scaled_down(self, x: str, whole: str, number: str) -> str:
        """`x * 2^n` as `scaled`, of an `n` from -3/2 of the bias to 0 and a `number` with an offset of 3/2 of the bias."""
        if self.full:
            return self.special("scalef", [x, whole])
        return self.mul(self.mul(x, self.power_of_two(number)), self.c(2.0 ** -(self.bias // 2)))

    def scaled_in_range(self, x: str, whole: str, number: str) -> str:
        """`x * 2^n` of a result that is a normal number: the exponent is added to."""
        if self.full:
            return self.special("scalef", [x, whole])
        return self.of_bits(self.on_bits("add", self.bits(x), self.on_bits("shl", number, self.digits)))

    def power_of_two(self, biased: str) -> str:
        """2 to the power whose biased exponent an integer ends in."""
        return self.of_bits(self.on_bits("shl", biased, self.digits))


# Shared by several functions


def less_one(v: Reals, r: str, coefficients: Sequence[float]) -> str:
    """`exp r - 1`, `r` small."""
    return v.fma(v.mul(r, r), v.polynomial(r, coefficients), r)


def decomposed(v: Reals, x: str, around_one: bool) -> tuple[str, str]:
    """
    The significand and the exponent of `x`, as floats.

    Significands are in [3/4, 3/2) or, not around 1, in [1, 2). What they are of 0, of infinity and of what has no logarithm makes
    the logarithm of those right in registers of 512 bits; else `repaired` does.
    """
    if v.full:
        significand = v.special("getmant", [x], 15 if around_one else 12)
        exponent = v.special("getexp", [x])
        if not around_one:
            return significand, exponent
        lower = v.test("olt", significand, v.c(1))
        return significand, v.where(lower, v.add(exponent, v.c(1)), exponent)
    subnormal = v.test("olt", x, v.c(2.0 ** (1 - v.bias)))
    bits = v.bits(v.where(subnormal, v.mul(x, v.c(2.0 ** (v.digits + 1))), x))
    start = v.bias << v.digits
    if around_one:
        start -= 1 << (v.digits - 1)
    offset = v.on_bits("sub", bits, start)
    significand = v.of_bits(v.on_bits("add", v.on_bits("and", offset, (1 << v.digits) - 1), start))
    number = v.on_bits("ashr", offset, v.digits)
    number = v.on_bits("sub", number, v.lanes.select(subnormal, v.integer, v.i(v.digits + 1), v.i(0)))
    return significand, v.lanes.convert("sitofp", v.integer, v.type, number)


def factor_and_term(v: Reals, name: str, significand: str, factors: Sequence[float], terms: Sequence[float]) -> tuple[str, str]:
    """`c` and the logarithm of its reciprocal."""
    index = v.on_bits("lshr", v.bits(significand), v.digits - 4)
    return v.looked_up(f"{name}.factors", factors, index), v.looked_up(f"{name}.terms", terms, index)


# Lanes that need more


def where_any(v: Reals, is_rare: str, operands: Sequence[str], found: str, name: str, one: str) -> str:
    """
    Return `found`, but of rare lanes what the scalar function `one` gives, one lane after the other.

    `name` is that of the function for them. Where no lane is rare, this takes a test and a branch.
    """
    f, of, called = v.lanes.function, v.lanes.of(v.type), _rare_lanes(v, len(operands), name, one)
    is_rare = v.lanes.active(is_rare)
    arguments = ", ".join([*(f"{of} {x}" for x in (*operands, found)), f"{v.lanes.of('i1')} {is_rare}"])
    call = f"call {of} {symbol(called)}({arguments})"
    return f.changed(v.lanes.any(is_rare), [(of, found)], lambda: [f.op(call, v.lanes.hint)])[0]


def _rare_lanes(v: Reals, count: int, name: str, one: str) -> str:
    """Add the function that goes through the lanes, in memory: a loop is less to compile than all lanes in a row."""
    module, width = v.lanes.function.module, v.lanes.width
    called = f"mind.{name}.{suffix(v.type, width)}"
    if called in module.functions:
        return called
    of, names = v.lanes.of(v.type), [*(f"x{i}" for i in range(count)), "found"]
    made = module.function(called, of, [*((of, n) for n in names), (v.lanes.of("i1"), "rare")])
    flags = Lanes(made, v.lanes.host, width, hint=name).convert("zext", "i1", "i8", "%rare")
    values = [*((of, f"%{n}") for n in names), (v.lanes.of("i8"), flags)]
    *places, result, marks = [made.op(f"alloca {type}, align 64", name) for type, _ in values]
    for (type, value), place in zip(values, (*places, result, marks), strict=True):
        made.do(f"store {type} {value}, ptr {place}, align 64")
    size = 8 if v.double else 4

    def lane(i: str) -> None:
        def replace_one() -> None:
            each = [made.op(f"load {v.type}, ptr {made.address(v.type, p, i)}, align {size}") for p in places]
            new = made.op(f"call {v.type} {symbol(one)}({', '.join(f'{v.type} {x}' for x in each)})")
            made.do(f"store {v.type} {new}, ptr {made.address(v.type, result, i)}, align {size}")

        flag = made.op(f"load i8, ptr {made.address('i8', marks, i)}, align 1")
        made.when(made.op(f"icmp ne i8 {flag}, 0"), replace_one)

    for i in made.each("0", str(width)):
        lane(i)
    made.ret(made.op(f"load {of}, ptr {result}, align 64"))
    return called
