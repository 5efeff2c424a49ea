"""
The `launch` dialect: what runs, in which order, on what memory. One IR below fusion, for every executor.

    %x = launch.alloc input 0 : memref<2x3xf32>
    %y = launch.alloc output 0 : memref<2x3xf32>
    launch.kernel @exp(%x) -> (%y) inplace [[0, 0]] : (memref<2x3xf32>) -> (memref<2x3xf32>) {
    ^bb0(%0: tensor<2x3xf32>):
      %1 = ptir.exp %0 : tensor<2x3xf32>
      launch.yield %1 : tensor<2x3xf32>
    }
    launch.return %y : memref<2x3xf32>

A value is an address and a layout. Ops name the arrays that they read and those that they write; only control flow has results.
"""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from .compute_ops import CallOp, ComputeOp, HostCallOp, KernelOp
from .control_ops import AtOp, ConditionOp, ForOp, IfOp, PrepackOp, WhileOp, YieldOp
from .memory_ops import AllocOp, CopyOp, Space, ViewOp
from .ref import Ref, read_ref, ref
from .return_op import ReturnOp

OPS: list[type[Operation]] = [
    AllocOp,
    AtOp,
    CallOp,
    ConditionOp,
    CopyOp,
    ForOp,
    HostCallOp,
    IfOp,
    KernelOp,
    PrepackOp,
    ReturnOp,
    ViewOp,
    WhileOp,
    YieldOp,
]
Launch = Dialect("launch", OPS)

__all__ = [
    "OPS",
    "AllocOp",
    "AtOp",
    "CallOp",
    "ComputeOp",
    "ConditionOp",
    "CopyOp",
    "ForOp",
    "HostCallOp",
    "IfOp",
    "KernelOp",
    "Launch",
    "PrepackOp",
    "Ref",
    "ReturnOp",
    "Space",
    "ViewOp",
    "WhileOp",
    "YieldOp",
    "read_ref",
    "ref",
]
