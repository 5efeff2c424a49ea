"""From a program of ours to a target's: what the contract calls conversion infrastructure, on xDSL ops."""

from .buffers import Alias, BufferizeOptions, BufferPlan, BufferSlot, FunctionPlan, PlannedBuffer, Usage, plan_text, totals
from .legality import (
    ConversionDiagnostic,
    ConversionStage,
    LegalityReport,
    LegalitySpec,
    check_function_legality,
    check_program_legality,
)
from .naming import canonical_text, default_entrypoint_name, entrypoint_name, fnv1a_64, program_hash, sanitize_symbol
from .planner import plan_buffers, plan_function
from .registry import (
    ConversionCache,
    ConversionCacheKey,
    ConversionOptions,
    ConversionTarget,
    ConvertedEntrypoint,
    ConvertedIR,
    get_conversion_target,
    list_conversion_targets,
    register_conversion_target,
)
from .walk import Event, OpPlace, ProgramVisitor, WalkStep, steps, walk_program

__all__ = [
    "Alias",
    "BufferPlan",
    "BufferSlot",
    "BufferizeOptions",
    "ConversionCache",
    "ConversionCacheKey",
    "ConversionDiagnostic",
    "ConversionOptions",
    "ConversionStage",
    "ConversionTarget",
    "ConvertedEntrypoint",
    "ConvertedIR",
    "Event",
    "FunctionPlan",
    "LegalityReport",
    "LegalitySpec",
    "OpPlace",
    "PlannedBuffer",
    "ProgramVisitor",
    "Usage",
    "WalkStep",
    "canonical_text",
    "check_function_legality",
    "check_program_legality",
    "default_entrypoint_name",
    "entrypoint_name",
    "fnv1a_64",
    "get_conversion_target",
    "list_conversion_targets",
    "plan_buffers",
    "plan_function",
    "plan_text",
    "program_hash",
    "register_conversion_target",
    "sanitize_symbol",
    "steps",
    "totals",
    "walk_program",
]
