"""
The native target: a function of PTIR as one LLVM module, optimised, fused, planned, each kernel a function, called by an entry.

    define i64 @run.main(ptr %buffers)

is the whole program where every op has a native kernel; each op that has none ends one entry, runs on NumPy, and begins the next.
`%buffers` is a table of addresses: the record of failures, the arena, then inputs, outputs, constants, what was packed once and
for all, and results of NumPy. The entry gives each kernel the addresses that it works on, so that kernels which differ in nothing
else are one function. The pass of the tools stops before the text, and their target prints it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import prod
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.target import Target

from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import functions
from mind_dialect.ptir import ComplexOp, FusionOp, PtirOp
from mind_dialect.ptir.types import read_type
from mind_passes.fusion.convolve_patches import convolve_patches
from mind_passes.fusion.defuse import defuse
from mind_passes.fusion.expand_norms import expand_norms
from mind_passes.fusion.expand_quantized import expand_quantized
from mind_passes.fusion.form_rows import form_rows
from mind_passes.fusion.fuse import fuse
from mind_passes.fusion.fuse_convolutions import fuse_convolutions
from mind_passes.fusion.gather_axes import gather_axes
from mind_passes.fusion.merge_components import merge_components
from mind_passes.fusion.merge_lookups import LOOKUPS, merge_lookups
from mind_passes.fusion.rematerialize import rematerialize
from mind_passes.fusion.select_scatters import select_scatters
from mind_passes.fusion.split_windows import split_windows
from mind_passes.fusion.tile_batch import tile_batch
from mind_passes.fusion.unroll_axes import unroll_axes
from mind_passes.fusion.wrap import is_pointwise_or_reduction
from mind_passes.ptir.expand_arg_extremes import expand_arg_extremes
from mind_passes.ptir.expand_complex import expand_complex
from mind_passes.ptir.expand_digamma import expand_digamma
from mind_passes.ptir.failing import forget_origins, mark_failing, unmark
from mind_passes.ptir.recognize import recognize
from mind_passes.selection import is_ptir
from mind_passes.staged import Stage, StagedPass

from .. import launch
from ..core_to_ptir import replace_body
from ..launch.assign_memory import Donation, assign_memory
from ..launch.hoist_packing import hoist_packing
from ..launch.kernel_patterns import Rejection
from ..launch.liveness import home, whole
from ..launch.loop_carried import place_loop_carried
from ..launch.memory_ops import AllocOp, Space, ViewOp
from ..narrow_products import narrow_products
from ..outline import drop_barriers, own_functions, own_module
from ..ptir_optimize import optimize_marked, simplified
from ..quantized_products import quantized_products
from . import costs
from .attention import find_attention
from .codegen import Emission
from .convolutions.fusion import fused_convolution
from .demanded import Demanded
from .extremes_gradient import is_extremes_gradient
from .fusions import is_one_group
from .grouping import uncomputed_members, why_not
from .host import detect
from .kernels import has_kernel
from .kernels_lookups import why_unchecked
from .kernels_window_arg import why_no_winner
from .loop_results import copy_results
from .lowered import Native
from .memory import ALIGNMENT
from .options import NativeOptions
from .plan import memory_type
from .planned_function import PlannedFunction
from .planner import Planner
from .products.fusion import fused_product
from .reasons import not_computed
from .rows.step import is_row_kernel
from .table import Table
from .target_info import TargetInfo, target_of
from .views import Buffer, Use
from .views import whole as whole_view


def prepared(func: FuncOp, host: TargetInfo) -> FuncOp:
    """
    Return a function of Core IR or PTIR as optimised PTIR, fused for a target, in a module of its own; the original is unchanged.

    E4000 and E2007 as for the NumPy target; E6003 for a function that was lowered for NumPy.
    """
    module, work = own_module(func, "native")
    for stage in fusion_stages(host):
        stage.run(module)
    return work


def fusion_stages(host: TargetInfo) -> list[Stage]:
    """Return how functions of PTIR, each by itself, are optimised and fused for a target."""

    def computes(op: Operation) -> bool:
        return not_computed(op, host) is None

    def in_group(op: PtirOp) -> bool:
        return why_not(op, host) is None

    def is_norm_kernel(op: FusionOp) -> bool:
        return all(in_group(o) for o in op.body.block.ops if isinstance(o, PtirOp) and is_pointwise_or_reduction(o))

    def form_row_kernels(module: ModuleOp) -> None:
        for func in functions(module):
            if func.body.blocks and is_ptir(func) and dynamic(func) is None:
                form_rows(func, lambda op: is_row_kernel(op, host), in_group)

    def merge_into_groups(module: ModuleOp) -> None:
        def is_merged(op: PtirOp) -> bool:
            return why_no_winner(op) is not None and why_unchecked(op, host) is None

        merge_lookups(module, lambda op: _is_group(op, host) and not _waits_for_indices(op), is_merged)

    def rematerialize_large(module: ModuleOp) -> None:
        rematerialize(module, lambda op: _is_one_kernel(op, host), costs.are_cheap, least_bytes=host.l2_bytes)

    return [
        Stage("mind-mark-failing", mark_failing),
        Stage("mind-ptir-defuse", lambda module: defuse(module, only=lambda op: not is_extremes_gradient(op, host))),
        Stage("mind-drop-barriers", drop_barriers),
        Stage("mind-ptir-gather-axes", gather_axes),
        Stage("mind-ptir-optimize", optimize_marked),
        Stage("mind-ptir-expand-complex", simplified(expand_complex)),
        Stage("mind-ptir-expand-digamma", simplified(expand_digamma)),
        Stage("mind-ptir-expand-arg-extremes", simplified(lambda module: expand_arg_extremes(module, computes))),
        Stage("mind-ptir-select-scatters", select_scatters),
        Stage("mind-recognize-convolutions", simplified(lambda module: recognize(module, ("convolution",)))),
        Stage("mind-ptir-convolve-patches", simplified(lambda module: convolve_patches(module, computes))),
        Stage(
            "mind-ptir-quantized-products", simplified(lambda module: bool(host.dots) and quantized_products(module, computes))
        ),
        Stage("mind-ptir-expand-quantized", lambda module: expand_quantized(module, computes)),
        Stage("mind-ptir-split-windows", lambda module: split_windows(module, computes)),
        Stage("mind-ptir-narrow-products", simplified(lambda module: bool(host.dots) and narrow_products(module, computes))),
        Stage("mind-ptir-expand-norms", lambda module: expand_norms(module, is_norm_kernel)),
        Stage("mind-ptir-unroll-axes", simplified(unroll_axes)),
        Stage("mind-recognize-attention", lambda module: find_attention(module, host)),
        Stage("mind-ptir-tile-batch", simplified(lambda module: tile_batch(module, lambda op: has_kernel(op, host)))),
        Stage("mind-ptir-fuse", lambda module: fuse(module, (ComplexOp,))),
        Stage("mind-ptir-merge-components", lambda module: merge_components(module, lambda op: _is_group(op, host))),
        Stage("mind-ptir-fuse-convolutions", fuse_convolutions),
        Stage("mind-ptir-form-rows", form_row_kernels),
        Stage("mind-ptir-merge-lookups", merge_into_groups),
        Stage("mind-ptir-rematerialize", rematerialize_large),
        Stage("mind-unmark-failing", unmark),
    ]


def _is_group(op: FusionOp, host: TargetInfo) -> bool:
    """Return whether a plain fusion is one group."""
    return op.pattern is None and uncomputed_members(op, host) is None and is_one_group(op)


def _waits_for_indices(op: FusionOp) -> bool:
    """Return whether a fusion looks elements up behind a function such as `sin`: two kernels, each unrolled, are faster."""
    kinds = [type(inner) for inner in op.body.block.ops if isinstance(inner, PtirOp)]
    first = next((k for k, kind in enumerate(kinds) if costs.instructions(kind) > costs.LONG), len(kinds))
    return any(kind in LOOKUPS for kind in kinds[first:])


def _is_one_kernel(op: FusionOp, host: TargetInfo) -> bool:
    """Return whether a plain fusion is one row kernel, one group, or a product or convolution with what follows it."""
    if is_row_kernel(op, host):
        return True
    if uncomputed_members(op, host) is not None:
        return False
    return is_one_group(op) or not all(isinstance(found(op, host), Rejection) for found in (fused_product, fused_convolution))


def dynamic(func: FuncOp) -> str | None:
    """The first type in a prepared function that has a dimension without a size, if there is one."""
    for op in func.walk():
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            if not read_type(value.type).is_static:
                return str(read_type(value.type))
    return None


def planned(func: FuncOp, host: TargetInfo, donated: Collection[int] = (), fixed: Collection[int] = ()) -> PlannedFunction:
    """
    Plan a prepared function, all of whose dimensions have sizes: its launches, with memory that is assigned and checked.

    `donated` are the numbers of inputs that may be overwritten, `fixed` those of inputs that are the same in each call: their
    packing runs once.
    """
    block = func.body.block
    ending = block.last_op
    assert isinstance(ending, ReturnOp), "prepared"
    planner = Planner(host, demanded=Demanded.of(func))
    planner.block = planner.top = top = Block(arg_types=block.arg_types)
    for i, (argument, old) in enumerate(zip(top.args, block.args, strict=True)):
        argument.name_hint = old.name_hint
        planner.input(old, donated=i in donated, fixed=i in fixed)
    for op in block.ops:
        if isinstance(op, PtirOp):
            planner.step(op)
    made = FuncOp.create(properties=dict(func.properties), attributes=dict(func.attributes), regions=[Region(top)])
    made.location = func.location
    found = launch.ReturnOp([_address(planner, value) for value in ending.operands])
    top.add_op(found)
    hoist_packing(made, planner.packed)
    place_loop_carried(made)
    copy_results(top)
    _return(planner, ending.operands, found)
    arena = assign_memory(made, order="size", align=ALIGNMENT, donation=Donation.IN_PLACE)
    return PlannedFunction(made, planner, arena, Table(made))


def _address(planner: Planner, value: SSAValue) -> SSAValue:
    """Return the address of a result that is all of some memory, if need be of a copy."""
    view = planner.view(value)
    if not isinstance(view.base, Buffer) or not view.is_whole:
        view = planner.copied(value, view)
    return planner.address(planner.buffer_of(view))


def _return(planner: Planner, values: Sequence[SSAValue], last: launch.ReturnOp) -> None:
    """Return outputs: temporaries become some, the memory of a host call is returned as it is, all else is copied into one."""
    addresses, found = list(last.inputs), dict[AllocOp, SSAValue]()
    last.detach()
    last.erase()
    for i, (value, address) in enumerate(zip(values, addresses, strict=True)):
        alloc = whole(home(address))
        if alloc is None or alloc.kind not in (Space.ARENA, Space.HOST) or alloc in found:
            shape = planner.shape(value)
            old = Buffer(Use.ARENA, 0, read_type(value.type).dtype, prod(shape), value.name_hint or "", address)
            address = planner.address(planner.buffer_of(planner.copied(value, whole_view(old, shape))))
            alloc = whole(address)
        assert alloc is not None
        if alloc.kind is Space.ARENA:
            alloc.become_output(i)
        if address.type != (type := memory_type(value)):
            planner.block.add_op(view := ViewOp(address, type))
            address = view.res
        found[alloc] = address
    planner.block.add_op(launch.ReturnOp(list(found.values())))
    constants = (b.address.owner for b, _ in planner.constants if b.value is not None)
    for i, alloc in enumerate(a for a in constants if isinstance(a, AllocOp) and a.parent is not None):
        alloc.index = IntegerAttr(i, i64)


def lower(
    func: FuncOp, host: TargetInfo, donated: Collection[int] = (), fixed: Collection[int] = (), *, timed: bool = False
) -> Native:
    """Return a function as native code for a kind of machine, `timed` with counters; other arguments are those of `planned`."""
    plan = planned(func, host, donated, fixed)
    return replace(Emission(plan, func.sym_name.data, timed=timed).run(), rejected=tuple(plan.planner.rejected()))


def stated(isa: str | None, *, flush_subnormals: bool = False) -> TargetInfo:
    """Return the target that the option `isa` names, by default this machine; E7001 for an unknown one."""
    found = detect() if isa is None else target_of(isa)
    return NativeOptions(flush_subnormals=flush_subnormals).of_target(found)


def print_module(module: ModuleOp, host: TargetInfo | None = None, *, timed: bool = False) -> str:
    """
    Return the LLVM IR of every function of a module, each a module of its own, for a machine, by default this one.

    With `timed`, entries read a clock around each kernel.

    E6003 for a dimension without a size: such functions are lowered when a call gives the sizes.
    """
    host = stated(None) if host is None else host
    texts: list[str] = []
    for func in functions(module):
        work = prepared(func, host)
        if (unsized := dynamic(work)) is not None:
            message = f"@{func.sym_name.data} has {unsized}, expected sizes; it is lowered when a call gives them"
            raise error("E6003", message, backend="native")
        native = lower(work, host, timed=timed)
        notes = "".join(f"; {ascii(line)[1:-1]}\n" for line in native.explain())
        texts.append(f"{notes}{native.text}")
    return "\n".join(texts)


@dataclass(frozen=True)
class LowerToNativePass(StagedPass):
    """
    Optimise and fuse the functions of a module for the native target: Core IR is converted, calls are inlined.

    Each `ptir.fusion`, and each op outside of one, is then a kernel. Kernels are for an `isa`, by default that of this machine:
    `avx512amx`, `avx512vnni`, `avx512`, `avx2vnni`, `avx2`, `baseline`, `sve256`, `neondot` or `neon`. `launches=true` lowers
    functions to the `launch` dialect: kernels and calls on assigned memory; E8001 for a dimension without a size.
    `flush-subnormals=true` lets subnormal numbers count as 0, as `NativeOptions` says.
    """

    name = "mind-lower-to-native"

    isa: str | None = None
    launches: bool = False
    flush_subnormals: bool = False

    def stages(self) -> Sequence[Stage]:
        host = stated(self.isa, flush_subnormals=self.flush_subnormals)
        return [
            Stage("mind-convert-to-ptir", lambda module: own_functions(module, "native")),
            *fusion_stages(host),
            Stage("mind-forget-origins", forget_origins),
            *([Stage("mind-plan-native", lambda module: plan_launches(module, host))] if self.launches else []),
        ]


def plan_launches(module: ModuleOp, host: TargetInfo) -> None:
    """Replace each prepared function of a module by the launches that run; E8001 where a dimension has no size."""
    for func in [f for f in functions(module) if f.body.blocks and is_ptir(f)]:
        if (unsized := dynamic(func)) is not None:
            message = f"@{func.sym_name.data} has no launches: {unsized} has a dimension without a size"
            raise error("E8001", message, name="?", extents=()).at(func, func.name)
        replace_body(func, planned(func, host).func)


@dataclass(frozen=True)
class NativeTarget(Target):
    """
    Print LLVM IR for an instruction set.

    `isa` is `avx512amx`, `avx512vnni`, `avx512`, `avx2vnni`, `avx2`, `baseline`, `sve256`, `neondot` or `neon`; by default that
    of this machine. With `timed=true` the entry reads a clock around each kernel, as the code that `mind-run --profile` runs
    does. With `flush-subnormals=true` subnormal numbers count as 0, as `NativeOptions` says.
    """

    name = "mind-native"

    isa: str | None = None
    timed: bool = False
    flush_subnormals: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_module(module, stated(self.isa, flush_subnormals=self.flush_subnormals), timed=self.timed))
