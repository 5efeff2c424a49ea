"""
From PTIR to StableHLO, which XLA, IREE and others compile: for CPUs, GPUs and TPUs, one of them or many.

    from mind_lowering.ptir_to_stablehlo import ExportOptions, stablehlo_program
    text = stablehlo_program(func, ExportOptions()).text

Every op has a rule or a stated reason (`legal.py`). docs/xla.md says what differs from the other targets.
"""

from .builder import ExportOptions
from .convert import checked_options, convert_module, converted
from .legal import CONVERTED, REFUSED
from .target import ConvertPtirToStablehloPass, StablehloPrintTarget, StablehloTarget, entry_function
from .text import StablehloProgram, stablehlo_program

__all__ = [
    "CONVERTED",
    "REFUSED",
    "ConvertPtirToStablehloPass",
    "ExportOptions",
    "StablehloPrintTarget",
    "StablehloProgram",
    "StablehloTarget",
    "checked_options",
    "convert_module",
    "converted",
    "entry_function",
    "stablehlo_program",
]
