"""
The text of the kernel of a convolution, with the epilogue that its step has.
"""

from __future__ import annotations

from ..failures import Failure, Sites
from ..ir import Function
from ..products.epilogue import begin_finishing
from ..target_info import TargetInfo
from .convolution import ConvolutionStep, EmittedConvolution
from .loops import emit_convolution


def emit_convolution_step(f: Function, host: TargetInfo, step: ConvolutionStep, sites: Sites) -> int:
    """Emit a convolution; how many units of work it has."""
    if host.checked:
        sites.add(Failure.OUTSIDE, None)  # what an epilogue means that leaves a tile
    made = EmittedConvolution(**vars(step.convolution), finish=begin_finishing(step.convolution.epilogue))
    units = emit_convolution(f, host, made, sites)
    f.ret("0")
    return units
