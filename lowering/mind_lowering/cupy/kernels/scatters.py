"""
Windows added to an array at index vectors, in place: a block for each vector, the first of those that meet taking up the others.

Windows of one index are the same elements, those of others are not: windows that may overlap in part are no kernel.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Block

from mind_dialect.ptir import ScatterAddOp
from mind_dialect.ptir.types import SI64

from .element import flat, for_each, function, lone_body, mixed, scratch
from .kernel import MOST_BLOCKS, CudaKernel, KernelWriter, Schedule, indented
from .places import spec
from .scalars import STORED, register
from .scope import KernelSource
from .unsupported import Unsupported
from .updates import MOST_UPDATES, is_atomic, updated

_EACH = 4
"""So many elements of a window a thread has at a time."""


class WindowScatterSchedule(Schedule):
    """A scatter of windows, by the dimension numbers of StableHLO."""

    def __init__(self, op: ScatterAddOp, block: Block):
        self.op, self.body = op, lone_body(op, block)
        self.into = updated(self.body, op)
        values = op.values()
        (self.dtype, self.extents), self.shape, ids = spec(op.x), spec(op.updates)[1], spec(op.indices)[1]
        rank = len(self.extents)
        inserted = {a % rank for a in values["inserted_window_dims"]}
        self.targets: list[int] = [a % rank for a in values["scatter_dims_to_operand_dims"]]
        self.window: list[int] = [a % len(self.shape) for a in values["update_window_dims"]]
        self.scatter = [a for a in range(len(self.shape)) if a not in self.window]
        self.kept = [a for a in range(rank) if a not in inserted]
        self.sizes: dict[int, int] = {a: self.shape[w] for a, w in zip(self.kept, self.window, strict=True)}
        vector: int | None = values["index_vector_dim"]
        self.vector = len(ids) if vector is None else vector
        self.count = prod(self.shape[a] for a in self.scatter)
        self.width = prod(self.shape[a] for a in self.window)
        meets = self.count > MOST_UPDATES or (self.count > 1 and any(self.sizes.get(a, 1) != 1 for a in self.targets))
        if meets and not is_atomic(op):
            raise Unsupported("windows that may overlap in part")

    def emit(self) -> CudaKernel:
        op, writer, stored = self.op, KernelWriter(self.body), STORED[self.dtype]
        source = writer.source
        dims = [self.shape[a] for a in self.scatter]
        names = scratch(source)
        at = mixed(names, [(self.scatter, tuple(dims), "j"), (self.window, tuple(self.shape[a] for a in self.window), "w")])
        lines = function(source, "update", op.updates, at, "I j, I w", self.dtype, names.lines)
        lines += self._keys(source)
        window, sizes = scratch(source), tuple(self.sizes[a] for a in self.kept)
        where = flat(mixed(window, [(range(len(sizes)), sizes, "w")]), self.kept, self.extents)
        lines += ["auto place = [&](I w) -> I {", *indented([*window.lines, f"return {where};"]), "};"]
        taken = "if (at[i] >= 0) total[i] = mind::add(total[i], update(j, first + threadIdx.x + 256 * i));"
        each = f"for (int i = 0; i < {_EACH}; ++i)"
        if is_atomic(op):
            return self._added(writer, lines)
        iteration = [
            "const mind::si64 mine = key(k, true);",
            "bool is_first = mine >= 0;",
            "for (I j = threadIdx.x; j < k && is_first; j += 256) is_first = key(j, false) != mine;",
            "if (!mind::all<mind::Min, 256>(int(is_first), 1)) continue;",
            f"for (I first = 0; first < {self.width}; first += {256 * _EACH}) {{",
            f"    I at[{_EACH}];",
            f"    {register(self.dtype)} total[{_EACH}];",
            f"    {each} {{",
            "        const I w = first + threadIdx.x + 256 * i;",
            f"        at[i] = w < {self.width} ? I(mine) + place(w) : I(-1);",
            f"        if (at[i] >= 0) total[i] = mind::Stored<{stored}>::load(b0[at[i]]);",
            "    }",
            "    const auto meets = [&](I j) { return key(j, false) == mine; };",
            f"    mind::in_order(k, I({self.count}), meets, [&](I j) {{ {each} {taken} }});",
            f"    {each} if (at[i] >= 0) b0[at[i]] = mind::Stored<{stored}>::store(total[i]);",
            "}",
        ]
        loop = [f"for (I k = blockIdx.x; k < {self.count}; k += gridDim.x) {{", *indented(iteration), "}"]
        return writer.kernel([*lines, *loop], writer.launch(min(self.count, MOST_BLOCKS), 256, into=self.into))

    def _added(self, writer: KernelWriter, lines: list[str]) -> CudaKernel:
        """A thread for each element of each window."""
        iteration = [
            f"const I j = e / {self.width}, w = e % {self.width};",
            "const mind::si64 mine = key(j, w == 0);",
            "if (mine >= 0) mind::add_to(b0 + (I(mine) + place(w)), update(j, w));",
        ]
        return for_each(writer, "e", self.count * self.width, iteration, lines, self.into)

    def _keys(self, source: KernelSource) -> list[str]:
        """The function from an index vector to the first element of its window, -1 for one out of bounds."""
        op, ids = self.op, spec(self.op.indices)[1]
        dims = tuple(n for a, n in enumerate(ids) if a != self.vector)
        lines: list[str] = []
        inner = ["mind::si64 found = 0;"]
        for column, a in enumerate(self.targets):
            names = scratch(source)
            parts = [([b for b in range(len(ids)) if b != self.vector], dims, "j")]
            parts += [([self.vector], (ids[self.vector],), str(column))] if self.vector < len(ids) else []
            lines += function(source, f"index{column}", op.indices, mixed(names, parts), "I j", SI64, names.lines)
            last = self.extents[a] - self.sizes.get(a, 1)
            fail = f"if (notes) mind::fail(record, {column}, mind::ui64(j), s{column});"
            inner.append(f"const mind::si64 s{column} = index{column}(j);")
            inner.append(f"if (s{column} < 0 || s{column} > {last}) {{ {fail} return -1; }}")
            inner.append(f"found += s{column} * {prod(self.extents[a + 1 :])};")
        return [*lines, "auto key = [&](I j, bool notes) -> mind::si64 {", *indented([*inner, "return found;"]), "};"]
