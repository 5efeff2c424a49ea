"""The text form of Core IR ops, which is that of all our dialects: `mind_dialect.textform`."""

from ..textform import parse_op, print_op, print_property, print_rest

__all__ = ["parse_op", "print_op", "print_property", "print_rest"]
