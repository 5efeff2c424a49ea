"""Core IR text and records: `print_core_ir`, `parse_core_ir`, `records`, `from_records`, and what the tools plug in."""

from .builder import Symbol
from .printer import CoreIRTarget, print_core_ir, render
from .reader import parse_core_ir, read_core_ir
from .records import CoreOperation, FunctionRecords, from_records, records

__all__ = [
    "CoreIRTarget",
    "CoreOperation",
    "FunctionRecords",
    "Symbol",
    "from_records",
    "parse_core_ir",
    "print_core_ir",
    "read_core_ir",
    "records",
    "render",
]
