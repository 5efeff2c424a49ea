"""
Sorts, and the greatest of rows: stable, the same whatever the machine does first, by kernels that a graph can hold.

What is sorted are keys with places, so that no two are equal and any network will do. Tiles are sorted by a block each; runs of
a whole sort are then merged two by two, a launch for each time that they double. Of the greatest each tile keeps as many as are
wanted, and what is left is sorted by tiles again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from mind_dialect.ptir import PtirOp, SortOp, TopKOp
from mind_dialect.ptir.types import PtirDType, TensorSpec, read_type

from ...xp import CallOp
from .kernel import NAME, CudaKernel, Launch, indented
from .scalars import STORED, register
from .stages import KernelStage, Staged

THREADS = 256
TILES = {4: 2048, 8: 1024}
"""Entries of a tile, by the bytes of a key: 16 KiB of shared memory."""
LEAST_TILE = 64
MOST_ENTRIES = (1 << 31) - 2
"""A place has 32 bits, of which all ones are none."""


def is_sorted_here(op: PtirOp) -> bool:
    """Return whether a sort of the program becomes kernels of ours."""
    return isinstance(op, SortOp | TopKOp) and _fits(*read_type(op.operands[0].type), op.values()["axis"])


def _fits(dtype: PtirDType, shape: tuple[object, ...], axis: int) -> bool:
    dims = [n for n in shape if isinstance(n, int)]
    if dtype not in STORED or len(dims) != len(shape) or not dims:
        return False
    rows = prod(dims) // max(dims[axis], 1)
    return dims[axis] <= MOST_ENTRIES and rows * -(-dims[axis] // LEAST_TILE) < 1 << 31


def sort_stages(op: CallOp) -> Staged | None:
    """The kernels of `k.sort` or `k.top_k`; None for dtypes that no kernel of ours has."""
    dtype, shape = read_type(op.operands[0].type)
    values = op.values()
    if not _fits(dtype, shape, values["axis"]):
        return None
    sizes = [n for n in shape if isinstance(n, int)]
    axis: int = values["axis"] % len(sizes)
    results = tuple(TensorSpec(*read_type(r.type)) for r in op.results)
    count, kept = sizes[axis], sizes[axis]
    if "k" in values:
        kept = int(values["k"])
    descending: bool = values["descending"] if "descending" in values else values["largest"]
    return _Sort(dtype, count, prod(sizes[axis + 1 :]), prod(sizes), kept, descending, results).made()


@dataclass
class _Sort:
    """One sort on its way: rows of `count` elements, `inner` apart, of which the first `kept` are wanted in order."""

    dtype: PtirDType
    count: int
    inner: int
    size: int
    kept: int
    descending: bool
    results: tuple[TensorSpec, ...]
    stages: list[KernelStage] = field(default_factory=list[KernelStage])
    scratch: list[int] = field(default_factory=list[int])

    def made(self) -> Staged:
        """The stages; none where there is nothing to do."""
        if self.size == 0 or self.kept == 0:
            return Staged(())
        self.rows = self.size // self.count
        bytes = 8 if self.dtype.bits == 64 else 4
        self.entry, self.entry_bytes, self.tile = f"mind::Entry{8 * bytes}", 2 * bytes, TILES[bytes]
        self.tile = min(self.tile, max(LEAST_TILE, 1 << (self.count - 1).bit_length()))
        source, count = "operand 0", self.count
        if 2 * self.kept <= self.tile:
            while True:
                shares = -(-count // self.tile)
                target = None if shares == 1 else self.room(shares * self.kept)
                self.tiles(source, count, self.kept, target)
                if target is None:
                    return Staged(tuple(self.stages), tuple(self.scratch))
                source, count = target, shares * self.kept
        run, padded = self.tile, -(-count // self.tile) * self.tile
        target = None if count <= self.tile else self.room(padded)
        self.tiles(source, count, min(count, self.tile), target)
        other = None
        while target is not None:
            source, run = target, 2 * run
            target = None if run >= count else other or self.room(padded)
            self.merged(source, run // 2, target)
            other = source
        return Staged(tuple(self.stages), tuple(self.scratch))

    def room(self, entries: int) -> str:
        """A new scratch for so many entries of each row."""
        self.scratch.append(self.rows * entries * self.entry_bytes)
        return f"scratch {len(self.scratch) - 1}"

    def tiles(self, source: str, count: int, kept: int, target: str | None) -> None:
        """Sort tiles of the elements, or of entries."""
        tile, threads, shares = self.tile, min(THREADS, self.tile // 2), -(-count // self.tile)
        if source == "operand 0":
            element = f"mind::sort_key(mind::Stored<{STORED[self.dtype]}>::load(x[base + p * {self.inner}]))"
            entry = f"{self.entry}::of({element}, {str(self.descending).lower()}, mind::ui32(p))"
            parameters = []
        else:
            entry, parameters = f"e[r * {count} + p]", [f"const {self.entry}* __restrict__ e"]
        body = [
            f"auto entry = [&](I p) -> {self.entry} {{ return {entry}; }};",
            *self.put(target),
            f"mind::sort_tile<{self.entry}, {tile}, {threads}>(share, I({count}), I({kept}), entry, put);",
        ]
        self.stage(body, shares, threads, source, parameters, target, "tiles")

    def merged(self, source: str, run: int, target: str | None) -> None:
        """Merge sorted runs of the entries two by two."""
        body = [
            *self.put(target),
            f"mind::merge_runs<{self.entry}, {THREADS}>(e + r * {self.stride(source)}, share, I({self.count}), I({run}), put);",
        ]
        entries = [f"const {self.entry}* __restrict__ e"]
        self.stage(body, -(-self.count // (4 * THREADS)), THREADS, source, entries, target, "merged")

    def stride(self, scratch: str) -> int:
        """Return the number of entries between the rows of a scratch."""
        return self.scratch[int(scratch.split()[1])] // self.rows // self.entry_bytes

    def put(self, target: str | None) -> list[str]:
        """The function that takes an entry: to where the next stage finds it, or to the results."""
        if target is not None:
            return [f"auto put = [&](I p, {self.entry} found) {{ to[r * {self.stride(target)} + p] = found; }};"]
        place = f"(r / {self.inner} * {self.kept} + p) * {self.inner} + r % {self.inner}"
        writes = [f"const I at = {place};", f"b0[at] = x[base + I(found.place()) * {self.inner}];"]
        if len(self.results) > 1:
            writes.append(f"b1[at] = {register(self.results[1].dtype)}(found.place());")
        guard = f"if (p < {self.kept}) {{ {' '.join(writes)} }}"
        return [f"auto put = [&](I p, {self.entry} found) {{ {guard} }};"]

    def stage(
        self, body: list[str], shares: int, threads: int, source: str, parameters: list[str], target: str | None, name: str
    ) -> None:
        """Append a kernel: of each row some blocks, each with a share."""
        reads = [source] if source == "operand 0" or target is not None else ["operand 0", source]
        if "operand 0" in reads:
            parameters = [f"const {STORED[self.dtype]}* __restrict__ x", *parameters]
        if target is None:
            writes = [f"result {i}" for i in range(len(self.results))]
            parameters += [f"{STORED[spec.dtype]}* __restrict__ b{i}" for i, spec in enumerate(self.results)]
        else:
            writes, parameters = [target], [*parameters, f"{self.entry}* __restrict__ to"]
        head = [f"const I r = blockIdx.x / {shares}, share = blockIdx.x % {shares};"]
        if "operand 0" in reads:
            head.append(f"const I base = r / {self.inner} * {self.count * self.inner} + r % {self.inner};")
        most = max([self.size, *(n // self.entry_bytes for n in self.scratch)])
        index = "int" if most <= 1 << 30 else "long long"
        opening = f'extern "C" __global__ void __launch_bounds__({threads}) {NAME}({", ".join(parameters)})'
        text = "\n".join([opening, "{", *indented([f"typedef {index} I;", *head, *body]), "}", ""])
        outputs = self.results if target is None else ()
        kernel = CudaKernel(text, Launch(outputs, self.rows * shares, threads), (), ("sort", name))
        self.stages.append(KernelStage(kernel, tuple(reads), tuple(writes)))
