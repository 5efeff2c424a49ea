"""The text around kernels: what they all call, and several of them as one module for NVRTC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

NVRTC_OPTIONS = ("-std=c++17", "--fmad=false", "-default-device", "-diag-suppress=177,550")
"""
Unused variables are left to the compiler. No products fused into sums: results are those of the NumPy target, but for functions
such as exp, and the order of sums.
"""


PARTS: dict[str, tuple[str, ...]] = {
    "mind::attend": ("tensor_cores.cuh", "copies.cuh", "attention.cuh"),
    "mind::attend_warp_group": ("warp_group.cuh",),
    "mind::attend_keys": ("attention_gradient.cuh",),
    "mind::attend_queries": ("attention_gradient.cuh",),
    "mind::product": ("tensor_cores.cuh", "product.cuh"),
    "mind::draw": ("draws.cuh",),
    "mind::sort_": ("sorting.cuh",),
    "mind::merge_runs": ("sorting.cuh",),
    "mind::scan": ("updates.cuh",),
    "mind::in_order": ("updates.cuh",),
    "mind::Last": ("updates.cuh",),
    "mind::add_to": ("updates.cuh",),
    "mind::max_to": ("updates.cuh",),
    "mind::min_to": ("updates.cuh",),
}
"""Headers that kernels call in addition to `mind.cuh`, by how the calls begin."""


@lru_cache(maxsize=16)
def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="ascii")


TOGETHER = 4
"""So many kernels are a module, which is compiled as one; those that call a part are one each, as they take longest."""
_BEGIN = re.compile(r'^extern "C" __global__ void __launch_bounds__\([^)]*\) (\w+)\(', re.MULTILINE)


def modules(text: str) -> list[tuple[str, list[str]]]:
    """The sources of modules that hold the kernels of a text between them, and the names of those of each; always the same."""
    begins = list(_BEGIN.finditer(text))
    ends = [*(found.start() for found in begins[1:]), len(text)]
    kernels = [(found[1], text[found.start() : end]) for found, end in zip(begins, ends, strict=True)]
    alone = [k for k in kernels if any(call in k[1] for call in PARTS)]
    others = [k for k in kernels if k not in alone]
    groups = [[k] for k in alone] + [others[i : i + TOGETHER] for i in range(0, len(others), TOGETHER)]
    return [(module_text([k for _, k in group]), [name for name, _ in group]) for group in groups]


def module_text(kernels: Sequence[str]) -> str:
    """The source of a module with these kernels, after the functions that they call."""
    files = dict.fromkeys(f for call, names in PARTS.items() if any(call in k for k in kernels) for f in names)
    return "\n".join([_file("mind.cuh"), *map(_file, files), *kernels])
