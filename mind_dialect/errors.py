"""
Every coded error of the stack, in one table.

Codes are stable, message texts are not. E1xxx to E6xxx are the catalogue of the public MIND specification; codes marked
`ours` fill its gaps. E11xx belong to the NumPy-style front end, E8xxx to the tensor backend's contract, E90xx to the
shape dialect, E91xx to the dialect `launch`. An error names its category in the specification's own words and carries structured
context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import ParseError, PassFailedException, VerifyException

from .lazy_dataclass import dataclass

if TYPE_CHECKING:
    from xdsl.ir import Operation
    from xdsl.utils.lexer import Span


@dataclass(frozen=True)
class Code:
    """One row of the catalogue: what the code means and which context an error of it must carry."""

    name: str
    category: str
    context: tuple[str, ...]
    ours: bool = False


_LEX, _SYNTAX, _TYPE, _SHAPE, _VERIFY = "LexError", "SyntaxError", "TypeError", "ShapeError", "VerificationError"

CATALOGUE: dict[str, Code] = {
    "E1001": Code("invalid UTF-8", _LEX, ("offset", "bytes")),
    "E1002": Code("invalid character in identifier", _LEX, ("char",)),
    "E1003": Code("unterminated string", _LEX, ("start",)),
    "E1004": Code("invalid escape sequence", _LEX, ("escape",)),
    "E1005": Code("invalid number", _LEX, ("text",)),
    "E1006": Code("unterminated comment", _LEX, ("start",)),
    "E1007": Code("syntax error", _SYNTAX, (), ours=True),
    "E1101": Code("a traced array used as a concrete value", "TracingError", ("given", "expected"), ours=True),
    "E1102": Code("an array that left the function it was traced in", "TracingError", ("made", "traced"), ours=True),
    "E1103": Code("assignment into a traced array", "TracingError", ("expected",), ours=True),
    "E1104": Code("containers that differ", "TracingError", ("path", "expected", "actual"), ours=True),
    "E1105": Code("argument of a traced function", "TracingError", ("path", "actual"), ours=True),
    "E1106": Code("endless or huge tracing", "TracingError", ("issue",), ours=True),
    "E1107": Code("dtypes that do not promote", "PromotionError", ("dtypes",), ours=True),
    "E1108": Code("a size that depends on data", "TracingError", ("function",), ours=True),
    "E1109": Code("a dimension without a size", "TracingError", ("name",), ours=True),
    "E1110": Code("argument of an array function", "ArrayError", ("argument", "value"), ours=True),
    "E2001": Code("type mismatch", _TYPE, ("expected", "actual")),
    "E2002": Code("undefined variable", _TYPE, ("name",)),
    "E2003": Code("cannot infer type", _TYPE, ("name",)),
    "E2004": Code("dtype mismatch", _TYPE, ("lhs", "rhs")),
    "E2005": Code("invalid dtype", _TYPE, ("dtype", "supported")),
    "E2006": Code("trait bound", _TYPE, ("type", "trait")),
    "E2007": Code("arity", _TYPE, ("expected", "actual")),
    "E3001": Code("shapes do not broadcast", _SHAPE, ("shapes", "dimension", "extents")),
    "E3002": Code("invalid rank", _SHAPE, ("expected", "actual")),
    "E3003": Code("dimension mismatch", _SHAPE, ("dimension", "extents")),
    "E3004": Code("axis out of range", _SHAPE, ("axis", "rank")),
    "E3005": Code("duplicate axis", _SHAPE, ("axes", "duplicate")),
    "E3006": Code("invalid extent", _SHAPE, ("shape", "index", "value")),
    "E3007": Code("element count", _SHAPE, ("shapes", "counts")),
    "E3008": Code("invalid permutation", _SHAPE, ("permutation", "rank", "violation")),
    "E3009": Code("squeezed extent is not 1", _SHAPE, ("axis", "extent", "shape")),
    "E3010": Code("literal shape", _SHAPE, ("declared", "inferred")),
    "E4000": Code("unknown opcode or attribute", _VERIFY, ("given", "expected"), ours=True),
    "E4001": Code("use before definition", _VERIFY, ("operand",)),
    "E4002": Code("redefinition", _VERIFY, ("value",)),
    "E4003": Code("undefined output", _VERIFY, ("index", "value")),
    "E4004": Code("invalid input", _VERIFY, ("index", "issue")),
    "E4005": Code("invalid constant", _VERIFY, ("dtype", "issue")),
    "E4006": Code("index length", _VERIFY, ("rank", "length")),
    "E4007": Code("slice lengths", _VERIFY, ("rank", "lengths")),
    "E4008": Code("slice step", _VERIFY, ("dimension", "step")),
    "E4009": Code("convolution channels", _VERIFY, ("channels",)),
    "E4010": Code("convolution strides", _VERIFY, ("strides",)),
    "E4011": Code("gather index dtype", _VERIFY, ("dtype",)),
    "E4012": Code("slice bounds", _VERIFY, ("dimension", "bounds", "extent"), ours=True),
    "E4013": Code("convolution padding", _VERIFY, ("padding",), ours=True),
    "E4014": Code("gather rank (reserved: a rank-0 input is E3002)", _VERIFY, ("rank",), ours=True),
    "E4015": Code("declared result type", _VERIFY, ("declared", "inferred"), ours=True),
    "E4016": Code("an op of another dialect does not verify, or no terminator", _VERIFY, ("issue",), ours=True),
    "E5001": Code("unsupported op", "UnsupportedOp", ("op",)),
    "E5002": Code("gradient verification", "Verification", ("inner",)),
    "E5003": Code("invalid axis", "InvalidAxis", ("axis", "shape")),
    "E5004": Code("unsupported shape", "UnsupportedShape", ("shapes",)),
    "E5005": Code("not differentiable", "UnsupportedOp", ("type",)),
    "E5006": Code("dimension without a name", "UnsupportedShape", ("type",), ours=True),
    "E6001": Code("index out of bounds", "RuntimeError", ("indices", "shape")),
    "E6002": Code("backend unavailable", "RuntimeError", ("requested", "available")),
    "E6003": Code("not supported here", "RuntimeError", ("backend",)),
    "E6004": Code("allocation", "RuntimeError", ("shape", "dtype", "backend")),
    "E6005": Code("integer overflow", "RuntimeError", ("operands",)),
    "E6006": Code("invalid numeric", "RuntimeError", ("operands",)),
    "E6007": Code("timeout", "RuntimeError", ("limit",)),
    "E6008": Code("device", "RuntimeError", ("device", "status")),
    "E7001": Code("invalid option", "UsageError", ("option",), ours=True),
    "E7002": Code("unusable file", "UsageError", ("path",), ours=True),
    "E7003": Code("unknown name", "UsageError", ("name", "known"), ours=True),
    "E7004": Code("a pass or target failed", "PassError", ("stage", "issue"), ours=True),
    "E7005": Code("diagnostics that are not those expected", "UsageError", ("issue",), ours=True),
    "E7006": Code("text that reads as something else", "PassError", ("issue",), ours=True),
    "E8001": Code("dynamic dimension", "DynamicDimensionMismatch", ("name", "extents"), ours=True),
    "E8002": Code("attribute value", "InvalidAttributeValue", ("attribute", "value"), ours=True),
    "E8003": Code("accumulator dtype", "InvalidAccumDTypeOverride", ("dtype", "accum_dtype"), ours=True),
    "E8004": Code("integer division by zero", "IntegerDivideByZero", ("operands",), ours=True),
    "E8005": Code("region signature", "RegionSignatureMismatch", ("region", "expected", "actual"), ours=True),
    "E8006": Code("version of the contract", "SpecVersionMismatch", ("given", "expected"), ours=True),
    "E8007": Code("unknown custom call", "Unimplemented", ("target", "known"), ours=True),
    "E8008": Code("not legal for a conversion target", "Unimplemented", ("target", "diagnostics"), ours=True),
    "E8009": Code("contradictory sizes", "DynamicDimensionMismatch", ("claim", "declared"), ours=True),
    "E8010": Code("a size that is declared otherwise", "DynamicDimensionMismatch", ("declaration", "sizes"), ours=True),
    "E9001": Code("type of an operand or result", _TYPE, ("expected", "actual"), ours=True),
    "E9002": Code("an error could not propagate", _TYPE, ("expected", "actual"), ours=True),
    "E9003": Code("stated result type", _TYPE, ("declared", "inferred"), ours=True),
    "E9004": Code("too many dimensions", _SHAPE, ("rank", "limit"), ours=True),
    "E9005": Code("malformed region", _VERIFY, ("issue",), ours=True),
    "E9006": Code("misplaced op", _VERIFY, ("parent", "expected"), ours=True),
    "E9007": Code("property", _VERIFY, ("property",), ours=True),
    "E9008": Code("invalid shape constant", _SHAPE, ("value",), ours=True),
    "E9009": Code("types passed on by a terminator", _TYPE, ("expected", "actual"), ours=True),
    "E9010": Code("unknown symbol", _VERIFY, ("symbol",), ours=True),
    "E9011": Code("duplicate symbol", _VERIFY, ("symbol",), ours=True),
    "E9012": Code("malformed reference to shape functions", _VERIFY, ("issue",), ours=True),
    "E9013": Code("no form in the other generation", "PassError", ("generation", "issue"), ours=True),
    "E9014": Code("no lowering", "PassError", ("issue", "ops"), ours=True),
    "E9020": Code("shapes that do not fit", _SHAPE, ("reason",), ours=True),
    "E9021": Code("unknown where it must be known", _SHAPE, ("reason",), ours=True),
    "E9022": Code("too long a run", "RuntimeError", ("limit",), ours=True),
    "E9101": Code("memory read before it is written", _VERIFY, ("value",), ours=True),
    "E9102": Code("memory in use", _VERIFY, ("value", "other"), ours=True),
    "E9103": Code("memory that may not be written", _VERIFY, ("value", "space"), ours=True),
}


class MindError(VerifyException, PassFailedException):
    """
    A coded error: what was given, what would be right, and where.

    It is a `VerifyException` and a `PassFailedException`, so every xDSL driver reports it as a diagnostic.
    """

    def __init__(
        self, code: str, message: str, context: dict[str, Any], op: Operation | None = None, category: str | None = None
    ):
        self.code = code
        self.category = category or CATALOGUE[code].category
        self.message = message
        self.context = context
        self.op = op
        super().__init__(f"{code}: {message}")

    def at(self, op: Operation, name: str) -> MindError:
        """The same error, attributed to `op`, whose printed name is `name`."""
        return MindError(self.code, f"{name}: {self.message}", {"op": name, **self.context}, op, self.category)


class MindErrors(MindError):
    """Several errors, found by one walk; as one error, it is the first, and counts the others."""

    def __init__(self, errors: Sequence[MindError]):
        first = errors[0]
        more = f" (and {len(errors) - 1} more errors)" if len(errors) > 1 else ""
        super().__init__(first.code, f"{first.message}{more}", first.context, first.op, first.category)
        self.errors = list(errors)


LONGEST_LINE = 200
"""Of source lines longer than this, parse errors show an excerpt."""


def brief(value: object) -> str:
    """
    `value` as text of bounded length, for messages. Code units that no encoding has are escaped.

    >>> brief("a" * 1000)[-6:], brief(10**5000), brief("\\ud800")
    ('aaa...', 'an integer of more than 4300 digits', '\\\\ud800')
    """
    try:
        text = str(value)
    except ValueError:  # Python's limit on the digits of an integer
        return "an integer of more than 4300 digits" if isinstance(value, int) else f"a {type(value).__name__} of huge integers"
    text = text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 3]}..."
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


class MindParseError(ParseError):
    """A coded error at a place in a text; `str` shows the line and a caret."""

    def __init__(self, span: Span[str] | Span[bytes], error: MindError):
        super().__init__(span, f"{error.code}: {error.message}")
        self.error = error

    def __str__(self) -> str:
        """Place, line, caret, message; of a long line only what surrounds the place."""
        span = self.span
        line_start, line_end = span.input.get_start_of_line(span.start), span.input.get_end_of_line(span.start)
        if line_end - line_start <= LONGEST_LINE:
            return span.print_with_context(self.msg)
        start = max(line_start, span.start - LONGEST_LINE // 2)
        shown = span.input.content[start : min(line_end, start + LONGEST_LINE)]
        text = shown if isinstance(shown, str) else shown.decode("utf-8", "replace")
        column = span.start - start
        carets = "^" * max(1, min(span.end - span.start, len(text) - column))
        return f"{span.get_location()}\n{text}\n{' ' * column}{carets}\n{' ' * column}{self.msg}\n"


def error(
    code: str, message: str, *, operation: Operation | None = None, category: str | None = None, **context: Any
) -> MindError:
    """
    Make a coded error; `context` must hold at least what the catalogue lists for the code.

    `category` replaces the catalogue's where another specification has its own name for the same thing.

    >>> error("E3004", "axis 3 is out of range for rank 3", axis=3, rank=3).category
    'ShapeError'
    """
    missing = [key for key in CATALOGUE[code].context if key not in context]
    assert not missing, f"{code} lacks its context {missing}"
    return MindError(code, message, context, operation, category)
