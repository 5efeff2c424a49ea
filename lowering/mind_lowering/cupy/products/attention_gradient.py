"""
Gradients of attention as kernels: which fusions are one, and their text around what `attention_gradient.cuh` has.

Such a fusion makes weights again from queries, keys and what is known of each row, and ends in products that sum over the rows,
for keys and values, or over the keys, for queries. What happens to a score and to its adjoint in between is any elementwise code.
Gradients are results, or parts of an array that is updated in place. Tiles are on tensor cores for f16 and bf16, whose weights
and adjoints are rounded before the last products, with sums in f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Block, SSAValue

from mind_dialect.ptir import CastOp, ConcatOp, ConstantOp, DotGeneralOp, ExpOp, ReduceOp, SliceOp, SubOp
from mind_dialect.ptir.types import F32, F64, PtirDType
from mind_passes.ptir.patterns.causal import hidden_from

from ..kernels.body import Body
from ..kernels.element import scratch
from ..kernels.indexing import IndexingCheck, Known
from ..kernels.kernel import MOST_BLOCKS, CudaKernel, KernelWriter, Schedule, indented
from ..kernels.places import Chunk, spec
from ..kernels.scalars import NARROW, cast, literal, register
from ..kernels.scope import Scope
from ..kernels.unsupported import Unsupported
from .destinations import Destination, destination_of, placed_parts
from .layout import strided
from .matrices import SHARED_BYTES, Matrix, axes_of, batch_offset, check_sums, scored

_TILES = ((32, 32), (32, 16), (16, 16))
_NARROW_TILES = (64, 32, 16)
"""Rows of a tile of f16 or bf16 that a block of 64 keys goes over, or keys that one of 64 rows does."""
_NARROW_ELEMENTS = {1: 64 * 32, 2: 64 * 16}
"""The most elements of such a tile, by the number of gradients that are in registers."""


def is_gradient(block: Block) -> bool:
    """Return whether a body holds products and no reductions, as that of the gradient of an attention does."""
    products = sum(isinstance(op, DotGeneralOp) for op in block.ops)
    return products > 1 and not any(isinstance(op, ReduceOp) for op in block.ops)


@dataclass
class _GradientParts:
    """The parts of a gradient: the products of scores and of the adjoint of weights, and those at the end."""

    body: Body
    scores: DotGeneralOp
    adjoint: DotGeneralOp | None
    ends: list[DotGeneralOp]
    exponential: ExpOp
    concat: ConcatOp | None
    """The concatenation that is the only result, of the gradients and the other parts of an array."""
    into: int | None
    """The input that is this array, if it is given."""
    depends: dict[SSAValue, set[DotGeneralOp]] = field(default_factory=dict[SSAValue, "set[DotGeneralOp]"])


def _parts(block: Block) -> _GradientParts:
    """Return the parts of a gradient; Unsupported for products that are something else."""
    body = Body(block, given=(DotGeneralOp,))
    if body.sites:
        raise Unsupported("products with ops that can fail")
    depends: dict[SSAValue, set[DotGeneralOp]] = {}
    ends: list[DotGeneralOp] = []
    first: list[DotGeneralOp] = []
    for op in body.ops:
        needs: set[DotGeneralOp] = {found for v in op.operands for found in depends.get(v, ())}
        if isinstance(op, DotGeneralOp):
            (ends if needs else first).append(op)
            needs = set() if needs else {op}
        depends[op.results[0]] = needs
    concat, into = placed_parts(body) or (None, None)
    written = len(body.results) if concat is None else sum(not isinstance(v.owner, SliceOp | ConstantOp) for v in concat.operands)
    found = [op for op in body.ops if isinstance(op, ExpOp) and isinstance(op.x.owner, SubOp) and depends[op.x]]
    if len(found) != 1 or len(depends[found[0].x]) != 1 or not 1 <= len(first) <= 2 or len(ends) != written:
        raise Unsupported("products that are no gradient of an attention")
    (scores,) = depends[found[0].x]
    others = [op for op in first if op is not scores]
    for op in (*first, *ends):
        check_sums(op)
    return _GradientParts(body, scores, others[0] if others else None, ends, found[0], concat, into, depends)


class GradientSchedule(Schedule):
    """Gradients of an attention, in the form for its sizes."""

    def __init__(self, op: DotGeneralOp, block: Block):
        self.parts = parts = _parts(block)
        self.body, self.into = parts.body, parts.into
        self.shape = spec(parts.scores.result)[1]
        self.batch, (self.rows, self.keys) = self.shape[:-2], self.shape[-2:]
        self.count = prod(self.batch)
        self.q, self.k = self._matrix(parts.scores, "lhs"), self._matrix(parts.scores, "rhs")
        self.g = self.v = None
        if parts.adjoint is not None:
            self.g, self.v = self._matrix(parts.adjoint, "lhs"), self._matrix(parts.adjoint, "rhs")
            if spec(parts.adjoint.result)[1] != self.shape:
                raise Unsupported("adjoints of another shape than the scores")
        self.wide = F64 if self.q.operand.dtype is F64 else F32
        axes = {axes_of(op, "lhs", len(self.batch)).contracted - len(self.batch) for op in parts.ends}
        if len(axes) != 1 or any(spec(op.lhs)[1] != self.shape for op in parts.ends):
            raise Unsupported("products that sum over different axes of scores")
        self.of_queries = axes == {1}
        self._find_ends()
        self._check()
        difference = parts.exponential.x.owner
        assert isinstance(difference, SubOp), "found so"
        self.greatest = difference.rhs
        self.bounds = None if parts.depends.get(difference.rhs) else hidden_from(difference.lhs, parts.scores)
        self.written = {n: destination_of(parts.ends[n], self.body, n, parts.concat) for n in self.ends.values()}
        self.at = scored(self.batch, self.rows, self.keys)
        self.first = (*self.at[:-1], Chunk((self.keys,), "0"))
        self.given = {"v0": parts.scores, **({} if parts.adjoint is None else {"w0": parts.adjoint})}
        check = IndexingCheck(Known(self.body))
        check.names |= {(op.result, self.at): name for name, op in self.given.items()}
        check.values([(parts.ends[number].lhs, self.at) for number in self.ends.values()])
        if self.bounds is not None:
            IndexingCheck(Known(self.body)).values([(self.greatest, self.first)])
        self.form = self._form()

    def _matrix(self, op: DotGeneralOp, side: str, *, contracted_down: bool = False) -> Matrix:
        """An operand as matrices with one row for each row of queries, or each key."""
        axes, value = axes_of(op, side, len(self.batch)), op.lhs if side == "lhs" else op.rhs
        if contracted_down:
            value = value.owner.x if isinstance(value.owner, CastOp) else value
            return Matrix(strided(value, self.body.inputs), axes.batch, axes.contracted, axes.left)
        return Matrix(strided(value, self.body.inputs), axes.batch, axes.left, axes.contracted)

    def _find_ends(self) -> None:
        """Find the gradient that each product at the end is, by the matrix that it is made with."""
        self.ends: dict[str, int] = {}
        for i, op in enumerate(self.parts.ends):
            other = self._matrix(op, "rhs", contracted_down=True)
            if self.of_queries:
                part = "queries" if other.same() == self.k.same() else None
            elif self.g is None or ("values" not in self.ends and other.same() == self.g.same()):
                self.g, part = self.g or other, "values"
            else:
                part = "keys" if other.same() == self.q.same() else None
            if part is None or part in self.ends or (part != "values" and self.v is None):
                raise Unsupported("products with other matrices than those of the attention")
            self.ends[part] = i

    def _check(self) -> None:
        assert self.g is not None, "found with the ends"
        matrices = [self.q, self.k, self.g, *([] if self.v is None else [self.v])]
        if any(m.operand.dtype is not self.q.operand.dtype for m in matrices):
            raise Unsupported("queries, keys and values of different dtypes")
        self.depth, self.width = self.q.shape[1], self.g.shape[1]
        wanted = [(self.rows, self.depth), (self.keys, self.depth), (self.rows, self.width), (self.keys, self.width)]
        if any(m.shape != shape for m, shape in zip(matrices, wanted, strict=False)):
            raise Unsupported("products of matrices of different sizes")
        if 0 in (self.count, *self.shape, self.depth, self.width):
            raise Unsupported("a gradient of nothing")

    def _form(self) -> tuple[str, int, str]:
        """Return the suffix of the function, the keys or rows of a block, and its tiles as the function has them."""
        dtype, most = self.q.operand.dtype, max(self.depth, self.width)
        if dtype in NARROW and self.depth % 16 == 0 and self.width % 16 == 0 and most <= 128:
            for tile in _NARROW_TILES:
                if tile * most <= _NARROW_ELEMENTS[len(self.ends)] or tile == _NARROW_TILES[-1]:
                    return "_narrow", 64, f"{tile}"
        for tall, wide in _TILES:
            if self.wide.size * self._elements(tall, wide) <= SHARED_BYTES - 1024:
                return "", tall if self.of_queries else wide, f"{tall}, {wide}"
        raise Unsupported(f"the gradient of an attention of depth {self.depth} and width {self.width}")

    def _elements(self, tall: int, wide: int) -> int:
        """Elements of shared memory for a tile."""
        deep, thick = (-(-n // 8) * 8 + 4 for n in (self.depth, self.width))
        return (tall + wide) * (deep + thick) + (1 if self.of_queries else len(self.ends)) * tall * (wide + 1)

    def emit(self) -> CudaKernel:
        """A block for each tile of keys or of rows, those that go over the most first."""
        suffix, own, tiles = self.form
        writer = KernelWriter(self.body)
        scope = scratch(writer.source)
        extent = self.rows if self.of_queries else self.keys
        count = -(-extent // own)
        total = count * self.count
        tile = f"{count - 1} - b % {count}" if self.of_queries else f"b % {count}"
        lines = [f"const I z = b / {count};", f"const I first = ({tile}) * {own};", *self._weigh(writer), *self._greatest(writer)]
        lines += [*self._limit(own), *self._finish()]
        wide = "" if suffix else f", {register(self.wide)}"
        sizes = f"{self.rows}, {self.keys}, {self.depth}, {self.width}, {tiles}"
        finish = "finish_queries" if self.of_queries else "finish_keys, finish_values"
        hidden = literal(self.wide, -float("inf") if self.bounds is None else self.bounds.hidden)
        given = f"{self._operands(scope)}, {self._outs(scope)}, first, limit, {hidden}, weigh, greatest, {finish}"
        if self.of_queries:
            call = f"mind::attend_queries{suffix}<{sizes}{wide}>({given});"
        else:
            flags = ", ".join("true" if part in self.ends else "false" for part in ("keys", "values"))
            call = f"mind::attend_keys{suffix}<{sizes}, {flags}{wide}>({given});"
        loop = [f"for (I b = blockIdx.x; b < {total}; b += gridDim.x) {{", *indented([*lines, *scope.lines, call]), "}"]
        names = ["attention", "gradient", "of", *(self.ends if self.of_queries else sorted(self.ends))]
        return writer.kernel(loop, writer.launch(min(total, MOST_BLOCKS), 128 if suffix else 64, into=self.into), names=names)

    def _operands(self, scope: Scope) -> str:
        """Queries, keys, values and adjoints of results as matrices."""
        assert self.g is not None
        index = "z" if self.count > 1 else "0"
        every = (self.q, self.k, self.v or self.k, self.g)
        return ", ".join(m.text(scope, index) for m in every)

    def _outs(self, scope: Scope) -> str:
        """Return the addresses at which gradients are written, and the distances of their rows."""
        found: list[str] = []
        for part in self._parts():
            if (number := self.ends.get(part)) is None:
                found.append("(float*)0, I(0)")
            else:
                to = self.written[number]
                start = f"{to.start} + " if to.start else ""
                found.append(f"b{to.result} + {start}{batch_offset(self.batch, to.places, 'z', scope)}, I({to.places[-2]})")
        return ", ".join(found)

    def _parts(self) -> Sequence[str]:
        """The gradients that the function of the kernel has."""
        return ("queries",) if self.of_queries else ("keys", "values")

    def _finish(self) -> list[str]:
        """The functions that change elements of gradients before they are written."""
        nothing = Destination(0, ())
        found: list[str] = []
        for part in self._parts():
            number = self.ends.get(part)
            to, product = (nothing, self.parts.scores) if number is None else (self.written[number], self.parts.ends[number])
            found.append(to.function(product, f"finish_{part}"))
        return found

    def _weigh(self, writer: KernelWriter) -> Sequence[str]:
        """The function from both products at a score, in the accumulator, to its weight and the adjoint of the first."""
        scope, type = scratch(writer.source), register(self.wide)
        head: list[str] = []
        for given, (name, op) in zip("xy", self.given.items(), strict=False):
            dtype: PtirDType = spec(op.result)[0]
            head.append(f"const {register(dtype)} {name} = {cast(given, self.wide, dtype)};")
            scope.names[op.result, self.at] = name
        wanted = {part: self.parts.ends[number].lhs for part, number in self.ends.items()}
        names = scope.values([(value, self.at) for value in wanted.values()])
        tail: list[str] = []
        for (part, value), name in zip(wanted.items(), names, strict=True):
            into = "weight" if part == "values" else "adjoint"
            tail.append(f"{into} = {cast(name, spec(value)[0], self.wide)};")
        parameters = f"{type} x, {type} y, I r, I c, {type}& weight, {type}& adjoint"
        return [f"auto weigh = [&]({parameters}) {{", *indented([*head, *scope.lines, *tail]), "};"]

    def _greatest(self, writer: KernelWriter) -> Sequence[str]:
        """The function from a row to what its scores are compared with."""
        type = register(self.wide)
        if self.bounds is None:
            return [f"auto greatest = [](I) -> {type} {{ return {type}(0); }};"]
        scope = scratch(writer.source)
        (name,) = scope.values([(self.greatest, self.first)])
        return [f"auto greatest = [&](I r) -> {type} {{", *indented([*scope.lines, f"return {name};"]), "};"]

    def _limit(self, own: int) -> Sequence[str]:
        """The first row that sees a block's keys, or the end of the keys that a block's rows see."""
        if self.bounds is None:
            return [f"const I limit = {self.keys if self.of_queries else 0};"]
        past = self.bounds.past
        if self.of_queries:
            last = f"const I last = first + {own} < {self.rows} ? first + {own - 1} : {self.rows - 1};"
            return [last, f"const I limit = last + {past} < {self.keys} ? last + {past} : {self.keys};"]
        return [f"const I limit = first + {1 - past};"]
