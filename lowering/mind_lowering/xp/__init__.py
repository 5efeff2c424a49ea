"""
The `xp` dialect: a function as calls over an array namespace, in straight lines, branches and loops.

    %2 = xp.call "xp.matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %3 = xp.call "k.relu"(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    xp.free %2 : tensor<2x4xf32>
    xp.return %3 : tensor<2x4xf32>

`xp.` names a function of the array namespace (NumPy, CuPy), `k.` a kernel of `mind_lowering.kernels` over it. Only the names
in `FUNCTIONS` can be called, so text from elsewhere cannot reach anything else. Values keep their tensor types.
"""

from .dialect import ReturnOp, Xp, no_outputs, register
from .ops import CallOp, ExpectOp, FreeOp, XpOp, call_properties, can_free, is_constant
from .regions import ConditionOp, ForOp, IfOp, LoopOp, WhileOp, YieldOp

__all__ = [
    "CallOp",
    "ConditionOp",
    "ExpectOp",
    "ForOp",
    "FreeOp",
    "IfOp",
    "LoopOp",
    "ReturnOp",
    "WhileOp",
    "Xp",
    "XpOp",
    "YieldOp",
    "call_properties",
    "can_free",
    "is_constant",
    "no_outputs",
    "register",
]
