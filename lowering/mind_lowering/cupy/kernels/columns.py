"""Kernels of columns: neighbouring threads for neighbouring columns, where axes other than the last are reduced."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .body import Body, Reduction
from .indexing import IndexingWalk
from .kernel import THREADS, CudaKernel, indented
from .places import Chunk, Dims, Place, linear, place
from .reduction_stages import ENOUGH_BLOCKS, ReductionSchedule
from .scope import Scope
from .unsupported import Unsupported


class ColumnSchedule(ReductionSchedule):
    """A warp for 32 neighbouring columns, `WARPS` warps for as many parts of what is reduced."""

    ROW = "q"
    WARPS = THREADS // 32

    def __init__(self, body: Body, shape: Dims, axes: Sequence[int]):
        super().__init__(body, shape, axes)
        self.tiles = -(-self.rows // 32)
        if self.one_stage and self.tiles < ENOUGH_BLOCKS:
            self.shares = max(1, min(-(-ENOUGH_BLOCKS // self.tiles), self.count // (8 * self.WARPS)))
        if self.tiles * self.shares >= 1 << 31:
            raise Unsupported("more columns than a grid has blocks for")
        self.inside = f"q < {self.rows}" if self.rows % 32 else "true"
        self.leader = f"w == 0 && {self.inside}"
        self.is_narrow = not self.one_stage and self.tiles < ENOUGH_BLOCKS and self.count > 8 * self.WARPS
        self.check()

    def kernel(self) -> CudaKernel:
        shares = self.shares
        lines = ["const int w = threadIdx.x / 32;"]
        tile = f"blockIdx.x / {shares}" if shares > 1 else "blockIdx.x"
        lines += [f"const I q = I({tile}) * 32 + threadIdx.x % 32;"]
        lines += [f"const int share = blockIdx.x % {shares};"] if shares > 1 else []
        lines += self.row()
        counters = self.tiles if shares > 1 else 0
        return self.writer.kernel(lines, self.writer.launch(self.tiles * shares, THREADS, self.scratch, counters))

    def loop(self, scope: Scope, outputs: Sequence[int], sums: Sequence[tuple[Reduction, str]]) -> list[str]:
        lines = self.writer.elements(scope, self.place(scope), [], outputs, sums, along="t")
        first = f"I(share) * {self.WARPS} + w" if self.shares > 1 else "w"
        loop = f"for (I t = {first}; t < {self.count}; t += {self.WARPS * self.shares}) {{"
        lines = [loop, *indented(lines), "}"]
        return lines if self.inside == "true" else [f"if ({self.inside}) {{", *indented(lines), "}"]

    def place(self, names: IndexingWalk) -> Place:
        """The place of element `t` of column `q`; together the indices of the kept axes are `q` again."""
        runs: list[tuple[bool, Dims]] = []
        for axis, n in enumerate(self.shape):
            reduced = axis in self.axes
            if runs and runs[-1][0] == reduced:
                runs[-1] = (reduced, (*runs[-1][1], n))
            else:
                runs.append((reduced, (n,)))
        chunks = [Chunk(dims, _part(names, runs, number)) for number, (_, dims) in enumerate(runs)]
        kept = tuple(chunk for chunk, (reduced, _) in zip(chunks, runs, strict=True) if not reduced)
        self._alias(names, kept)
        return place(*chunks)

    def _alias(self, names: IndexingWalk, kept: Sequence[Chunk]) -> None:
        """Let the index over all kept axes be `q` wherever it is put together again."""
        real = [chunk for chunk in kept if prod(chunk.dims) != 1]
        if len(real) > 1:
            head = linear(place(*real[:-1]), names)
            names.texts[f"{head} * {prod(real[-1].dims)} + {real[-1].number}"] = "q"

    def together(self, kind: str, total: str, start: str) -> str:
        return f"mind::across<{kind}, {self.WARPS}>({total})"

    def parts(self, kind: str, total: str, pointer: str) -> tuple[str, str]:
        condition = f"if ({self.inside}) " if self.inside != "true" else ""
        loop = f"for (int p = w; p < {self.shares}; p += {self.WARPS})"
        taken = f"{condition}{loop} {total} = {kind}::of({total}, {pointer}[I(p) * {self.rows} + q]);"
        return f"if ({self.leader}) {pointer}[I(share) * {self.rows} + q] = {total};", taken


def _part(names: IndexingWalk, runs: Sequence[tuple[bool, Dims]], number: int) -> str:
    """The index of one run of axes, from that over all kept or all reduced ones."""
    reduced, dims = runs[number]
    after = prod(prod(d) for r, d in runs[number + 1 :] if r == reduced)
    before = prod(prod(d) for r, d in runs[:number] if r == reduced)
    text = "t" if reduced else "q"
    if prod(dims) == 1:
        return "0"
    if after != 1:
        text = names.index(f"{text} / {after}")
    return text if before == 1 else names.index(f"{text} % {prod(dims)}")
