"""
What can be said of the CuPy target without a GPU: registers, spills, occupancy, bytes, and the least time at a card's limits.

    python benchmarks/gpu_report.py [--only gpt2_train_bf16 ...] [--architecture 90] [--small] [--out FILE]

NVRTC compiles every kernel of the plan of a program for an architecture and reports its resources, as `ptxas -v` does. Occupancy
follows from them by the rules of CUDA's programming guide. The time of a step is the longer of its bytes at the bandwidth of the
card and its operations at the card's rate in that dtype: no run can be faster, and no GPU was asked.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from xdsl.ir import Block, SSAValue

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from gpu_families import FAMILIES, family_of
from peers.gpu_programs import OPTIONS, PROGRAMS

from mind_dialect import ptir
from mind_dialect.ptir.types import read_type
from mind_lowering.cupy.cuda_cpp.text import NVRTC_OPTIONS, modules
from mind_lowering.cupy.kernels.call_kernels import call_kernels
from mind_lowering.cupy.lower import lowered_for_cupy
from mind_lowering.cupy.options import DEFAULT, CupyOptions
from mind_lowering.cupy.planning.planner import plan_function
from mind_lowering.cupy.source import cupy_source
from mind_lowering.launch.compute_ops import CallOp, KernelOp
from mind_lowering.launch.liveness import launch_ops
from mind_lowering.launch.ref import read_ref
from mind_passes.fusion.place_parts import OVERWRITTEN
from mind_runtime.cupy.limits import limits_of
from mind_runtime.cupy.profile import flops_of
from mind_runtime.cupy.tape import Step, Work
from mind_runtime.profile import Limits


def _card(memory: int, bus: int, clock: int, processors: int) -> dict[str, int]:
    return {"MemoryClockRate": memory, "GlobalMemoryBusWidth": bus, "ClockRate": clock, "MultiProcessorCount": processors}


RESULTS = Path(__file__).with_name("results") / "gpu_report.md"
CARDS = {
    "80": ("A100 80GB", _card(1593000, 5120, 1410000, 108)),
    "90": ("H100 SXM", _card(2619000, 5120, 1980000, 132)),
}
"""By the number of the architecture: clocks in kHz and the width of the bus in bits, from the makers' data sheets."""
SHARED = {"80": 164 << 10, "90": 228 << 10}
"""Bytes of shared memory of a multiprocessor (CUDA programming guide, table of technical specifications)."""
REGISTERS, WARPS, BLOCKS, LANES = 65536, 64, 32, 32
RESERVED = 1024
"""Bytes of shared memory that the system takes of each block."""
PARTS = (ptir.TakeOp, ptir.GatherOp, ptir.SliceOp, ptir.StridedSliceOp, ptir.DynamicSliceOp)
"""Ops that read no more of their first operand than their result holds."""
LISTED = 8
"""So many kernels of a program are listed, those with the longest time first."""
_FUNCTION = re.compile(r"Function properties for (\w+)")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SMEM = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class Usage:
    """What a compiled kernel takes: registers a thread, bytes spilled (stored and loaded), bytes of shared memory a block."""

    registers: int
    spills: int
    shared: int


@dataclass(frozen=True)
class Timed:
    """A step of a plan: its name, the kernel in CUDA if it is one of ours, and what it moves and computes."""

    name: str
    symbol: str | None
    block: int
    grid: int
    bytes: int
    seconds: float
    family: str


@dataclass(frozen=True)
class Report:
    """A program: its function, its steps in order, the resources of its kernels by name, and the bytes of its arena."""

    title: str
    function: str
    steps: list[Timed]
    usage: dict[str, Usage]
    arena: int
    attentions: dict[str, str]
    """The sources of the modules of attentions."""


def usages(log: str) -> dict[str, Usage]:
    """
    Return the resources of each kernel in a log of `ptxas -v`.

    >>> usages('''ptxas info    : Function properties for k
    ... ptxas         .     0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
    ... ptxas info    : Used 22 registers, used 1 barriers, 512 bytes smem''')
    {'k': Usage(registers=22, spills=12, shared=512)}
    """
    found: dict[str, Usage] = {}
    name, spills = "", 0
    for line in log.splitlines():
        if (match := _FUNCTION.search(line)) is not None:
            name = match[1]
        elif (match := _SPILLS.search(line)) is not None:
            spills = int(match[2]) + int(match[3])
        elif (match := _USED.search(line)) is not None:
            shared = _SMEM.search(line)
            found[name] = Usage(int(match[1]), spills, int(shared[1]) if shared else 0)
    return found


def occupancy(usage: Usage, block: int, architecture: str) -> float:
    """
    Return the share of a multiprocessor's warps that can be resident at once.

    Registers are given to warps in units of 256, to four warps at a time; shared memory to blocks in units of 128 bytes.

    >>> [occupancy(usage, 256, "90") for usage in (Usage(32, 0, 0), Usage(128, 0, 0), Usage(32, 0, 100 << 10))]
    [1.0, 0.25, 0.25]
    """
    warps = -(-block // LANES)
    of_a_warp = -(-usage.registers * LANES // 256) * 256
    by_registers = REGISTERS // of_a_warp // 4 * 4 // warps
    of_a_block = -(-(usage.shared + RESERVED) // 128) * 128
    blocks = min(by_registers, SHARED[architecture] // of_a_block, WARPS // warps, BLOCKS)
    return blocks * warps / WARPS


def compiled(source: str, architecture: str) -> dict[str, Usage]:
    """Compile a module and return the resources of its kernels."""
    from mind_lowering.cupy.cuda_cpp.nvrtc import library, with_features

    nvrtc: Any = library()
    program = nvrtc.createProgram(source, "mind.cu", (), ())
    machine = with_features(source, f"sm_{architecture}")
    try:
        nvrtc.compileProgram(program, (f"-arch={machine}", *NVRTC_OPTIONS, "--ptxas-options=-v"))
        return usages(str(nvrtc.getProgramLog(program)))
    finally:
        nvrtc.destroyProgram(program)


def report(title: str, func: Any, donated: Collection[int], architecture: str, options: CupyOptions = DEFAULT) -> Report:
    """Plan a function and compile its kernels."""
    limits = limits_of(CARDS[architecture][0], architecture, CARDS[architecture][1])
    made = lowered_for_cupy(func, donated, options)
    source, kernels = cupy_source(made.func)
    calls = call_kernels(made.func, source.name, kernels)
    plan = plan_function(made.func, kernels.launches(), donated, calls)
    steps = [timed(op, kernels, limits) for op in launch_ops(plan.func.body.block) if isinstance(op, Step)]
    usage: dict[str, Usage] = {}
    sources = modules(kernels.text()) if kernels.found else list[tuple[str, list[str]]]()
    with ThreadPoolExecutor() as pool:
        for found in pool.map(lambda module: compiled(module[0], architecture), sources):
            usage |= found
    attentions = {name: source for source, names in sources for name in names if "_attention" in name}
    return Report(title, func.sym_name.data, steps, usage, plan.arena, attentions)


def moved_bytes(op: Step, kernels: Any) -> int:
    """Return the bytes that an op must read and write: where it takes or updates parts of an operand, only those."""
    if not isinstance(op, KernelOp) or not op.body.blocks:
        return sum(stored_bytes(value) for values in op.effects() for value in values)
    into = kernels.found[op.symbol].launch.into
    placed = placed_bytes(op.body.block, into)
    if placed is not None:
        moved = placed
    else:
        moved = sum(read_ref(value.type).nbytes for value in op.results_written) if into is None else 0
    for i, (value, argument) in enumerate(zip(op.reads, op.body.block.args, strict=True)):
        users = [use.operation for use in argument.uses]
        size = read_ref(value.type).nbytes
        if i == into and placed is None:
            moved += sum(bytes_of(user.operands[1]) for user in users)
        elif i == into:
            pass
        elif all(isinstance(user, PARTS) and user.operands[0] is argument for user in users):
            moved += min(size, sum(bytes_of(user.results[0]) for user in users))
        else:
            moved += size
    return moved


def stored_bytes(value: SSAValue) -> int:
    """Return the size of an address: of elements that are repeated by strides of 0, each once."""
    layout = read_ref(value.type)
    return layout.dtype.size * prod(n for n, stride in zip(layout.shape, layout.strides, strict=True) if stride or not n)


def placed_bytes(block: Block, into: int | None) -> int | None:
    """Return the bytes of the parts of an array that a body writes; None for a body that writes whole results."""
    ending = block.last_op
    concat = ending.operands[0].owner if ending is not None and len(ending.operands) == 1 else None
    if not isinstance(concat, ptir.ConcatOp):
        return None
    before = None if into is None else block.args[into]
    written = [v for v in concat.operands if not is_left(v.owner, before)]
    return sum(bytes_of(v) for v in written) if len(written) < len(concat.operands) else None


def is_left(part: Any, before: SSAValue | None) -> bool:
    """Return whether a part of an array is left to other kernels: a slice of what it was before, or overwritten later."""
    if isinstance(part, ptir.ConstantOp):
        return OVERWRITTEN in part.attributes
    return isinstance(part, ptir.SliceOp) and part.x is before


def bytes_of(value: SSAValue) -> int:
    """Return the size of a value whose dimensions have sizes."""
    dtype, shape = read_type(value.type)
    return dtype.size * prod(n for n in shape if isinstance(n, int))


def timed(op: Step, kernels: Any, limits: Limits) -> Timed:
    """Return an op and the least time that it takes."""
    reads, _ = op.effects()
    moved = moved_bytes(op, kernels)
    dtype = read_ref(reads[0].type).dtype.name if reads else ""
    operations = flops_of(Work(lambda: None, op))
    rate = limits.flops.get(dtype, limits.flops["f32"])
    seconds = max(moved / limits.bandwidth, operations / rate)
    if isinstance(op, KernelOp):
        how = kernels.found[op.symbol].launch
        symbol = kernels.symbols[op.symbol]
        return Timed(symbol, symbol, how.block, how.grid, moved, seconds, family_of(op))
    name = op.function if isinstance(op, CallOp) else "copy"
    return Timed(name, None, 0, 0, moved, seconds, "copies" if name == "copy" else "products")


def breakdown(reports: Sequence[Report]) -> list[str]:
    """Return the table of the bytes that the kernels of each family move."""
    lines = header(["bytes of kernels", *(found.title for found in reports)])
    sums = [Counter[str]() for _ in reports]
    for moved, found in zip(sums, reports, strict=True):
        for step in found.steps:
            moved[step.family] += step.bytes if step.symbol is not None else 0
    for family in FAMILIES:
        lines.append(f"| {family} | {' | '.join(size(moved[family]) for moved in sums)} |")
    return [*lines, f"| total | {' | '.join(size(moved.total()) for moved in sums)} |"]


def page(reports: Sequence[Report], architecture: str) -> str:
    """Return the page of results."""
    name, attributes = CARDS[architecture]
    limits = limits_of(name, architecture, attributes)
    rates = f"{limits.flops['f32'] / 1e12:.0f} TFLOP/s in f32, {limits.flops['bf16'] / 1e12:.0f} in bf16"
    columns = [
        "program",
        "kernels",
        "launches",
        "library calls",
        "bytes of kernels",
        "of calls",
        "arena",
        "least time",
        "spilling",
    ]
    lines = [
        f"# Kernels of the CuPy target, compiled for sm_{architecture}",
        "",
        "Made by `make gpu-report`, without a GPU. NVRTC reports the registers, spills and shared memory of each kernel; the",
        "occupancy follows from them. The least time of a step is the longer of its bytes at the bandwidth of the card and",
        f"its operations at the card's peak rate. The card is an {name}: {limits.bandwidth / 1e9:,.0f} GB/s, {rates}.",
        "Nothing was measured on a device.",
        "",
        *header(columns),
    ]
    for found in reports:
        ours = [s for s in found.steps if s.symbol is not None]
        others = [s for s in found.steps if s.symbol is None]
        spilling = sum(u.spills > 0 for u in found.usage.values())
        lines.append(
            f"| {found.title} | {len(found.usage)} | {len(ours)} | {len(others)} | {size(sum(s.bytes for s in ours))} "
            f"| {size(sum(s.bytes for s in others))} | {size(found.arena)} "
            f"| {duration(sum(s.seconds for s in found.steps))} | {spilling} |"
        )
    if training := [found for found in reports if found.function == "train_step"]:
        lines += ["", "## Bytes of the kernels of training steps", "", *breakdown(training)]
    if any(found.attentions for found in reports):
        lines += ["", "## Attention", "", *HALF_TEXT, "", *attention_table(reports, architecture)]
    for found in reports:
        lines += ["", f"## {found.title[0].upper()}{found.title[1:]}", "", *table(found, architecture)]
    return "\n".join(lines) + "\n"


HALF_TEXT = (
    "Half of the warps of a multiprocessor are resident at once where each thread has 64 registers. The last columns are for",
    "kernels that are compiled with this bound; `refused` is one that ptxas does not compile then.",
)


def attention_table(reports: Sequence[Report], architecture: str) -> list[str]:
    """Return the resources of the attentions of different text, as they are and with registers for half of the warps."""
    held = ["registers", "spilled", "shared", "occupancy"]
    lines = header(["program", "kernel", "block", *held, "at 64 registers: spilled", "shared", "occupancy"])
    seen: set[str] = set()
    for found in reports:
        blocks = {step.symbol: step.block for step in found.steps}
        for name, source in found.attentions.items():
            if (text := source.replace(name, "")) in seen:
                continue
            seen.add(text)
            cells = [*resources(found.usage[name], blocks[name], architecture)]
            cells += resources(at_half(source, name, blocks[name], architecture), blocks[name], architecture)[1:]
            lines.append(f"| {found.title} | `{name}` | {blocks[name]} | {' | '.join(cells)} |")
    return lines


def resources(usage: Usage | None, block: int, architecture: str) -> list[str]:
    """Return the cells of a kernel, if it was compiled."""
    if usage is None:
        return ["", "refused", "", ""]
    share = f"{100 * occupancy(usage, block, architecture):.0f} %"
    return [str(usage.registers), str(usage.spills), str(usage.shared), share]


def at_half(source: str, name: str, block: int, architecture: str) -> Usage | None:
    """Compile a kernel with registers for half of the warps of a multiprocessor; None if it is refused."""
    bounds = f"__launch_bounds__({block}, {WARPS * LANES // 2 // block}) {name}("
    bounded = re.sub(rf"__launch_bounds__\([^)]*\) {name}\(", lambda _: bounds, source)
    try:
        return compiled(bounded, architecture).get(name)
    except Exception as e:  # NVRTC's, whose class CuPy has
        if type(e).__name__ != "NVRTCError":
            raise
        return None


def table(found: Report, architecture: str) -> list[str]:
    """Return the rows of the steps that take longest, and of every kernel that spills."""
    total = sum(s.seconds for s in found.steps)
    seconds, uses = defaultdict[str, float](float), Counter[str]()
    first: dict[str, Timed] = {}
    for step in found.steps:
        seconds[step.name] += step.seconds
        uses[step.name] += 1
        first.setdefault(step.name, step)
    names = [name for name, _ in sorted(seconds.items(), key=lambda item: (-item[1], item[0]))]
    chosen = names[:LISTED] + [n for n in names[LISTED:] if n in found.usage and found.usage[n].spills]
    columns = ["step", "launches", "grid", "block", "registers", "spilled", "shared", "occupancy", "least time", "share"]
    lines = header(columns)
    for name in chosen:
        step, usage = first[name], found.usage.get(name)
        how = [str(step.grid), str(step.block)] if step.symbol is not None else ["", ""]
        held = [""] * 4 if usage is None else resources(usage, step.block, architecture)
        share = f"{100 * seconds[name] / total:.1f} %" if total else ""
        lines.append(f"| `{name}` | {uses[name]} | {' | '.join([*how, *held])} | {duration(seconds[name])} | {share} |")
    return lines


def header(columns: Sequence[str]) -> list[str]:
    """Return the first lines of a table."""
    return [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]


def size(count: int) -> str:
    """Return bytes in a unit that people read."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def duration(seconds: float) -> str:
    """Return a time in a unit that people read."""
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


def main(argv: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="the kernels of the CuPy target, without a GPU")
    parser.add_argument("--only", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS), metavar="PROGRAM")
    parser.add_argument("--architecture", choices=list(CARDS), default="90")
    parser.add_argument("--small", action="store_true", help="small sizes, to try the report out")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(argv)
    reports: list[Report] = []
    for name in options.only:
        title, make = PROGRAMS[name]
        print(title, flush=True)
        reports.append(report(title, *make(options.small), options.architecture, OPTIONS.get(name, DEFAULT)))
    options.out.write_text(page(reports, options.architecture), encoding="utf-8")


if __name__ == "__main__":
    main()
