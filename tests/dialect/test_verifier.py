"""Every rule of the Core IR and shapes chapters: a program that breaks it beside one that just keeps it."""

from __future__ import annotations

import pytest

from mind_dialect.core import CORE_OPS, EXTENSION_OPS
from mind_dialect.errors import CATALOGUE, MindError, MindParseError
from mind_dialect.verify import failures, verify
from programs import parse
from verifier_rows import CONSTANTS, Row, program
from verifier_rows_elementwise import ELEMENTWISE, REDUCTIONS
from verifier_rows_gradient import GRADIENT
from verifier_rows_products import CONTRACTION, CONVOLUTION
from verifier_rows_structural import INDEXING, STRUCTURAL

ROWS = [*CONSTANTS, *ELEMENTWISE, *REDUCTIONS, *STRUCTURAL, *INDEXING, *CONTRACTION, *CONVOLUTION, *GRADIENT]

REQUIRED: dict[str, tuple[str, set[str]]] = {
    "E1005": ("LexError", {"text"}),
    "E2001": ("TypeError", {"expected", "actual"}),
    "E2004": ("TypeError", {"op", "lhs", "rhs"}),
    "E2005": ("TypeError", {"dtype", "supported"}),
    "E2007": ("TypeError", {"op", "expected", "actual"}),
    "E3001": ("ShapeError", {"op", "shapes", "dimension", "extents"}),
    "E3002": ("ShapeError", {"op", "expected", "actual"}),
    "E3003": ("ShapeError", {"op", "dimension", "extents"}),
    "E3004": ("ShapeError", {"op", "axis", "rank"}),
    "E3005": ("ShapeError", {"op", "axes", "duplicate"}),
    "E3006": ("ShapeError", {"shape", "index", "value"}),
    "E3007": ("ShapeError", {"shapes", "counts"}),
    "E3008": ("ShapeError", {"permutation", "rank", "violation"}),
    "E3009": ("ShapeError", {"axis", "extent", "shape"}),
    "E3010": ("ShapeError", {"declared", "inferred"}),
    "E4000": ("VerificationError", {"given", "expected"}),
    "E4001": ("VerificationError", {"op", "operand", "definition"}),
    "E4004": ("VerificationError", {"index", "issue"}),
    "E4005": ("VerificationError", {"dtype", "issue"}),
    "E4006": ("VerificationError", {"op", "rank", "length"}),
    "E4007": ("VerificationError", {"op", "rank", "lengths"}),
    "E4008": ("VerificationError", {"op", "dimension", "step"}),
    "E4009": ("VerificationError", {"op", "channels"}),
    "E4010": ("VerificationError", {"op", "strides"}),
    "E4011": ("VerificationError", {"op", "dtype"}),
    "E4012": ("VerificationError", {"op", "dimension", "bounds", "extent"}),
    "E4013": ("VerificationError", {"padding"}),
    "E4015": ("VerificationError", {"op", "declared", "inferred"}),
    "E4016": ("VerificationError", {"issue"}),
    "E6003": ("RuntimeError", {"op", "backend"}),
}
"""Category and context that an error of each code must carry, from the public error catalogue; `op` where an op is at fault."""

ELSEWHERE = {
    "E2001": "test_verifier_modules.py: inputs",
    "E4001": "test_dominance.py: definition before use",
    "E4004": "test_verifier_modules.py: inputs",
    "E4016": "test_dominance.py: ops of other dialects",
}
EXEMPT = {
    "E2002": "names are of the expression builder; MLIR text reports an undefined value by its parser",
    "E2003": "every Core IR op declares its type",
    "E2006": "Core IR has no traits in the sense of the surface language",
    "E4002": "an SSA value of xDSL cannot be defined twice; the Core IR reader raises it",
    "E4003": "outputs are the operands of func.return, so E4001 covers them; the Core IR reader raises it",
    "E4014": "reserved: decision 16 gives a rank-0 input of Gather E3002",
}


def raised(text: str) -> MindError | None:
    """The first error of a program, whether its text or its meaning is at fault."""
    try:
        verify(parse(text))
    except MindError as e:
        return e
    except MindParseError as e:
        return e.error
    return None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_broken(row: Row):
    found = raised(program(row.args, row.bad, row.profile))
    assert found is not None, "accepted"
    assert (found.code, row.says in found.message) == (row.code, True), str(found)
    category, keys = REQUIRED[row.code]
    assert found.category == category
    in_text = found.op is None  # met by the parser: no op exists yet
    assert keys - ({"op"} if in_text else set()) <= found.context.keys()
    for key, value in row.context.items():
        assert found.context[key] == value


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_kept(row: Row):
    module = parse(program(row.args if row.good_args is None else row.good_args, row.good, row.profile))
    assert list(map(str, failures(module))) == []
    module.verify()  # xDSL's own driver agrees


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_stock_driver_gives_the_same_code(row: Row):
    """`module.verify()`, which is what stock xdsl-opt calls, reports the same failure."""
    with pytest.raises((MindError, MindParseError)) as caught:
        parse(program(row.args, row.bad, row.profile)).verify()
    error = caught.value.error if isinstance(caught.value, MindParseError) else caught.value
    assert error.code == row.code


def test_names_are_unique():
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.quick
def test_every_code_of_the_verifier_has_a_row():
    ours = {code for code in CATALOGUE if code[1] in "234"}
    covered = {row.code for row in ROWS} | ELSEWHERE.keys()
    assert covered & EXEMPT.keys() == set()
    assert ours - covered == EXEMPT.keys()


@pytest.mark.quick
def test_every_op_has_rows():
    named = {row.name.partition(":")[0] for row in ROWS}
    assert named == {op.name.removeprefix("mind.") for op in (*CORE_OPS, *EXTENSION_OPS)}


def test_the_catalogue_asks_for_no_less():
    for code, (category, keys) in REQUIRED.items():
        assert CATALOGUE[code].category == category
        assert set(CATALOGUE[code].context) <= keys
