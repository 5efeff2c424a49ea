"""Sizes of the named dimensions of a program's inputs: found in the shapes of arguments, and compared with what is declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mind_dialect.declared_dims import broken
from mind_dialect.errors import MindError, error
from mind_dialect.extents import Declaration
from mind_dialect.extents.dims import is_expression, misfit_text, size_in
from mind_dialect.extents.solutions import solutions
from mind_dialect.program import shown_name

from .signature import TensorSpec


class DimSizes:
    """The dimensions of inputs that have a name or are an expression of names."""

    def __init__(self, function: str, inputs: Sequence[TensorSpec], declared: tuple[Declaration, ...]):
        self._function, self._inputs, self._declared = function, inputs, declared
        dims = [(i, d, dim) for i, s in enumerate(inputs) for d, dim in enumerate(s.shape) if isinstance(dim, str) and dim != "?"]
        self._named = [found for found in dims if not is_expression(found[2])]
        self._computed = [found for found in dims if is_expression(found[2])]
        self._solved = list(solutions([s.shape for s in inputs]))
        self.first = {name: (i, d) for i, d, name in reversed(self._named)}
        """The input and the dimension where each name is first."""
        self.are_computed = bool(self._computed) or any(declaration.divides for declaration in declared)
        """True if sizes are compared with some that are computed from others."""

    def of(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        """Return the sizes by name; E8001 for equal names with different sizes, E8010 for sizes that break a declaration."""
        sizes: dict[str, int] = {}
        for i, d, name in self._named:
            self._check(i, d, name, shapes[i][d], sizes.setdefault(name, shapes[i][d]))
        for found in self._solved:
            n, dim = shapes[found.shape][found.axis], self._inputs[found.shape].shape[found.axis]
            sizes[found.name] = found.of(n, sizes)
            if (expected := size_in(dim, sizes)) != n:
                what = input_label(self._function, self._inputs[found.shape])
                message = f"{what}: dimension {found.axis}, {dim}, has size {n}; no size {found.name} makes it that"
                raise error("E8001", message, name=found.name, extents=(expected, n))
        for i, d, dim in self._computed:
            self._check(i, d, dim, shapes[i][d], size_in(dim, sizes))
        if self._declared and (found := broken(self._declared, sizes)) is not None:
            raise self._broken(found, sizes)
        return sizes

    def _check(self, i: int, d: int, dim: str, n: int, expected: int | None) -> None:
        if n != expected:
            message = misfit_text(input_label(self._function, self._inputs[i]), d, dim, n, expected)
            raise error("E8001", message, name=dim, extents=(expected, n))

    def _broken(self, found: Declaration, sizes: Mapping[str, int]) -> MindError:
        """E8010 for sizes that break a declaration, which names the arguments that have them."""
        first = {s.name: (s.shape, s.axis) for s in self._solved} | self.first
        parts = [
            f"{input_label(self._function, self._inputs[i])} has size {size_in(dim, sizes)} as dimension {d}, {dim}"
            for i, d in map(first.__getitem__, found.names)
            for dim in (self._inputs[i].shape[d],)
        ]
        context = {name: sizes[name] for name in found.names}
        return error("E8010", f"{'; '.join(parts)}; declared is {found.text!r}", declaration=found.text, sizes=context)


def input_label(function: str, spec: TensorSpec) -> str:
    """Return how messages name an input of a function."""
    return f"input {shown_name(spec.name)} of @{shown_name(function)}"
