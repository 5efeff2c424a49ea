"""
Names of ops in the serialised forms, and the contents of their payloads: one row per op, read from both sides.

An op that the public form lacks has the variant `Extension`, which holds the op's name beside its properties. `layer_norm` and
`clamp` have no row: they are written as the ops they consist of (`decompose.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mind_dialect import ptir
from mind_dialect.codecs import BOOLEAN, INTEGERS, Codec
from mind_dialect.errors import error
from mind_dialect.ptir import attributes as codecs
from mind_dialect.ptir.reduction import CONTRACT_KINDS, REDUCE_KINDS

from .kinds import DTYPE, FLAG, PAIRS, REAL, REGION, SIZE, SIZES, TEXT, AttributeKind, Axis, Listed, Option, Words
from .nodes import Node, fields, tagged, under, unexpected
from .tensor_kinds import BOUND, BOUNDS, CALL_ATTRIBUTES, LITERAL, NEW_SHAPE, SCALAR, SHAPE, Bound, named, sized

EXTENSION = "Extension"
"""The variant of the ops that the public form lacks; its payload names the op."""


@dataclass(frozen=True)
class Field:
    """One field of a payload: its name there, its kind, and the property of the op, or the region, that it gives."""

    name: str
    kind: AttributeKind
    key: str


@dataclass(frozen=True)
class PtirRow:
    """
    Serialised form of one op.

    `word` is the payload of an elementwise variant; `whole` the only property, where that is the payload; `spec` is the payload's
    name in Rust, and None without fields.
    """

    op: type[ptir.PtirOp]
    variant: str
    word: str | None = None
    whole: Field | None = None
    spec: str | None = None
    fields: tuple[Field, ...] = ()

    @property
    def is_extension(self) -> bool:
        """Return whether the public form lacks the op."""
        return self.variant == EXTENSION

    def payload(self, values: Mapping[str, Any]) -> dict[Field, Any]:
        """The value of each field, given properties and numbers of regions by name."""
        return {field: values[field.key] for field in self.fields}

    def write(self, values: Mapping[str, Any]) -> Node:
        """The JSON node of an op."""
        if self.word is not None:
            return {self.variant: self.word}
        if self.whole is not None:
            return {self.variant: self.whole.kind.write(values[self.whole.key])}
        if self.spec is None:
            return self.variant
        name = {"name": self.op.OPCODE} if self.is_extension else {}
        return {self.variant: {**name, **{f.name: f.kind.write(v) for f, v in self.payload(values).items()}}}

    def rust(self, values: Mapping[str, Any]) -> str:
        """The op as Rust shows it."""
        if self.word is not None:
            return f"{self.variant}({self.word})"
        if self.whole is not None:
            return f"{self.variant}({self.whole.kind.rust(values[self.whole.key])})"
        if self.spec is None:
            return self.variant
        shown = [f'name: "{self.op.OPCODE}"'] if self.is_extension else []
        shown += [f"{f.name}: {f.kind.rust(v)}" for f, v in self.payload(values).items()]
        return f"{self.variant}({self.spec} {{ {', '.join(shown)} }})"

    def read(self, payload: Node) -> dict[str, Any]:
        """Properties and numbers of regions by name; `Misplaced` for a payload that is not this op's."""
        if self.whole is not None:
            return {self.whole.key: self.whole.kind.read(payload)}
        if self.spec is None:
            return {}
        required, optional = self._names
        found = fields(payload, required, optional)
        return {f.key: under(f.name, f.kind.read, found[f.name]) if f.name in found else f.kind.missing for f in self.fields}

    @property
    def _names(self) -> tuple[Sequence[str], Sequence[str]]:
        own = ["name"] if self.is_extension else []
        return own + [f.name for f in self.fields if not f.kind.optional], [f.name for f in self.fields if f.kind.optional]


ACCUM = {"accum_dtype": Option(DTYPE)}
OUT = {"out_dtype": Option(DTYPE)}
LHS, RHS = Listed(Axis(0)), Listed(Axis(1))
REDUCTION = Words(CONTRACT_KINDS)
WINDOW = {"strides": SIZES, "padding": PAIRS}
RANDOM = {"shape": SHAPE, "dtype": DTYPE}


def _row(
    op: type[ptir.PtirOp],
    variant: str,
    rename: Mapping[str, str] | None = None,
    spec: str | None = None,
    /,
    **kinds: AttributeKind,
) -> PtirRow:
    """A row of fields; `rename` gives the property where the field has another name."""
    renamed = rename or {}
    found = tuple(Field(name, kind, renamed.get(name, name)) for name, kind in kinds.items())
    return PtirRow(op, variant, None, None, spec or f"{variant}Spec" if found else None, found)


def _extension(op: type[ptir.PtirOp]) -> PtirRow:
    """A row that the op's own properties and regions give."""
    found = [Field(name, _EXTENSION_KINDS.get((op.OPCODE, name)) or _kind(op, name), name) for name in op.CODECS]
    found += [Field(f"{name}_region", REGION, name) for name in op.REGION_NAMES]
    return PtirRow(op, EXTENSION, None, None, "ExtensionSpec", tuple(found))


def _kind(op: type[ptir.PtirOp], name: str) -> AttributeKind:
    codec = op.CODECS[name]
    kind = Words(codec.words) if isinstance(codec, codecs.Word) else _KINDS[codec]
    return Option(kind) if name in op.OPTIONAL else kind


_KINDS: dict[Codec, AttributeKind] = {
    codecs.INTEGER: SIZE,
    codecs.DTYPE: DTYPE,
    codecs.PAIRS: PAIRS,
    codecs.DIMS: SHAPE,
    codecs.LITERAL: LITERAL,
    codecs.SCALAR: SCALAR,
    codecs.TEXT: TEXT,
    codecs.REAL: REAL,
    INTEGERS: SIZES,
    BOOLEAN: FLAG,
}
_EXTENSION_KINDS: dict[tuple[str, str], AttributeKind] = {
    ("cumulative_sum", "axis"): Axis(0),
    ("cumulative", "axis"): Axis(0),
    ("arg_min", "axis"): Axis(0),
    ("sort", "axis"): Axis(0),
    ("reverse", "axes"): LHS,
    ("dimension_size", "axis"): Axis(0),
    **{("strided_slice", name): BOUNDS for name in ("starts", "limits")},
    **{("gather_windows", name): LHS for name in ("collapsed_slice_dims", "operand_batching_dims", "start_index_map")},
    ("gather_windows", "start_indices_batching_dims"): RHS,
    ("gather_windows", "offset_dims"): Listed(Axis(None)),
    **{
        ("scatter_windows", name): LHS for name in ("inserted_window_dims", "input_batching_dims", "scatter_dims_to_operand_dims")
    },
    ("scatter_windows", "scatter_indices_batching_dims"): RHS,
    ("scatter_windows", "update_window_dims"): Listed(Axis(2)),
}

ROWS: tuple[PtirRow, ...] = (
    PtirRow(ptir.ConstantOp, "Constant", whole=Field("value", LITERAL, "value")),
    *(PtirRow(op, "ElementwiseUnary", word=op.OPCODE.title()) for op in ptir.UNARY_OPS),
    *(PtirRow(op, "ElementwiseBinary", word=op.OPCODE.title()) for op in ptir.BINARY_OPS),
    _row(ptir.CompareOp, "Compare", {"op": "kind"}, op=Words(ptir.CompareOp.KINDS)),
    _row(ptir.SelectOp, "Select"),
    _row(ptir.CastOp, "Cast", dtype=DTYPE),
    _row(ptir.StopGradientOp, "StopGradient"),
    _row(ptir.ReduceOp, "Reduce", kind=Words(REDUCE_KINDS), axes=LHS, keepdims=FLAG, **ACCUM, **OUT),
    _row(ptir.ArgMaxOp, "ArgMax", axis=Axis(0), keepdims=FLAG, output_dtype=DTYPE),
    _row(ptir.DotGeneralOp, "DotGeneral", batch_lhs=LHS, batch_rhs=RHS, contract_lhs=LHS, contract_rhs=RHS, **ACCUM, **OUT),
    _row(ptir.ReshapeOp, "Reshape", new_shape=NEW_SHAPE),
    _row(ptir.TransposeOp, "Transpose", perm=LHS),
    _row(ptir.BroadcastToOp, "BroadcastTo", result_shape=SHAPE),
    _row(ptir.SliceOp, "Slice", starts=BOUNDS, sizes=BOUNDS),
    _row(ptir.ConcatOp, "Concat", axis=Axis(0)),
    _row(ptir.PadOp, "Pad", low=BOUNDS, high=BOUNDS, interior=SIZES, pad_value=SCALAR),
    _row(ptir.TileOp, "Tile", repeats=BOUNDS),
    _row(ptir.IotaOp, "Iota", **RANDOM, axis=Axis(None)),
    _row(ptir.TakeOp, "Take"),
    _row(ptir.GatherOp, "Gather", axis=Axis(0)),
    _row(
        ptir.ScatterAddOp,
        "ScatterAdd",
        None,
        "ScatterSpec",
        update_window_dims=Listed(Axis(2)),
        inserted_window_dims=LHS,
        scatter_dims_to_operand_dims=LHS,
        index_vector_dim=Option(SIZE),
    ),
    _row(
        ptir.ScatterReduceOp,
        "ScatterReduce",
        {"reduce": "kind"},
        axis=Axis(0),
        reduce=Words(("add", "max", "min", "replace")),
    ),
    _row(ptir.DynamicSliceOp, "DynamicSlice", sizes=BOUNDS),
    _row(ptir.DynamicUpdateSliceOp, "DynamicUpdateSlice", sizes=BOUNDS),
    _row(ptir.CondOp, "Cond", {"true_region": "true", "false_region": "false"}, true_region=REGION, false_region=REGION),
    _row(ptir.WhileOp, "While", {"cond_region": "cond", "body_region": "body"}, cond_region=REGION, body_region=REGION),
    _row(ptir.ScanOp, "Scan", {"body_region": "body"}, body_region=REGION, carry_count=SIZE, scan_output_count=SIZE),
    _row(
        ptir.ReduceWindowOp,
        "ReduceWindow",
        {"reduce": "kind"},
        window_dims=SIZES,
        **WINDOW,
        base_dilation=SIZES,
        window_dilation=SIZES,
        reduce=REDUCTION,
        **ACCUM,
    ),
    _row(ptir.ExtractPatchesOp, "ExtractPatches", window=SIZES, strides=SIZES, dilation=SIZES, padding=PAIRS, pad_value=SCALAR),
    _row(ptir.CustomCallOp, "CustomCall", target=TEXT, attrs=CALL_ATTRIBUTES),
    _row(ptir.RngUniformOp, "RngUniform", **RANDOM),
    _row(ptir.RngNormalOp, "RngNormal", **RANDOM),
    _row(ptir.TopKOp, "TopK", k=BOUND, axis=Axis(0), largest=FLAG, indices_dtype=DTYPE),
    _row(
        ptir.SegmentReduceOp,
        "SegmentReduce",
        kind=Words(("sum", "max")),
        num_segments=BOUND,
        **ACCUM,
        indices_are_sorted=FLAG,
        unique=FLAG,
    ),
    _row(ptir.QuantizeOp, "Quantize", output_dtype=DTYPE, axis=Option(Axis(0))),
    _row(ptir.DequantizeOp, "Dequantize", axis=Option(Axis(0)), output_dtype=Option(DTYPE)),
    _row(ptir.RequantizeOp, "Requantize", output_dtype=DTYPE, axis=Option(Axis(0))),
    *(_extension(op) for op in ptir.EXTENSION_OPS),
)
"""In the contract's order."""

WITHOUT_ROW: dict[type[ptir.PtirOp], str] = {
    ptir.YieldOp: "what it holds are the results of the region",
    ptir.LayerNormOp: "decomposed",
    ptir.ClampOp: "decomposed",
}
"""The ops that no row writes, and why."""

ROW_OF: dict[type[ptir.PtirOp], PtirRow] = {row.op: row for row in ROWS}
_BY_VARIANT: dict[str, PtirRow] = {row.variant: row for row in ROWS if row.word is None and not row.is_extension}
_BY_WORD: dict[tuple[str, str], PtirRow] = {(row.variant, row.word): row for row in ROWS if row.word is not None}
_BY_NAME: dict[str, PtirRow] = {row.op.OPCODE: row for row in ROWS if row.is_extension}
VARIANTS: tuple[str, ...] = tuple(dict.fromkeys(row.variant for row in ROWS))
UNIT_VARIANTS = frozenset(row.variant for row in ROWS if row.word is None and row.whole is None and row.spec is None)
"""The variants without payload."""


def row_of(op: type[ptir.PtirOp]) -> PtirRow:
    """The row of an op; E4000 for one without, which names it."""
    if (row := ROW_OF.get(op)) is None:
        raise error("E4000", f"no public form can express {op.OPCODE}", given=op.OPCODE, expected=list(VARIANTS))
    return row


def read_op(node: Node) -> tuple[PtirRow, dict[str, Any]]:
    """The row of an op's node, and its properties and numbers of regions by name; `Misplaced` for what is none."""
    tag, payload = tagged(node, f"an operation, one of {list(VARIANTS)}")
    row = _BY_VARIANT.get(tag)
    if tag == EXTENSION or (tag in VARIANTS and row is None):
        row = under(tag, lambda n: _named_row(tag, n), payload)
    if row is None:
        raise unexpected(f"one of {list(VARIANTS)}", tag)
    if isinstance(node, str) != (row.spec is None and row.whole is None and row.word is None):
        raise unexpected(f"{tag} {'with' if isinstance(node, str) else 'without'} a payload", node)
    return row, under(tag, row.read, payload)


def _named_row(tag: str, payload: Node) -> PtirRow:
    """The row of an elementwise variant by its word, of an extension by its name."""
    if tag != EXTENSION:
        words = [word for variant, word in _BY_WORD if variant == tag]
        if not isinstance(payload, str) or payload not in words:
            raise unexpected(f"one of {words}", payload)
        return _BY_WORD[tag, payload]
    name = fields(payload, ("name",), tuple(payload) if isinstance(payload, dict) else ())["name"]  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(name, str) or name not in _BY_NAME:
        raise unexpected(f"one of {list(_BY_NAME)}", name).under("name")
    return _BY_NAME[name]


def check_stated_dims(op: ptir.PtirOp, row: PtirRow) -> None:
    """Raise E4000 for a property that the contract's forms cannot say: an expression, or a name where they have sizes."""
    bounds = {f.key for f in row.fields if isinstance(f.kind.item if isinstance(f.kind, Listed) else f.kind, Bound)}
    for name, found in op.stated_dims().items():
        for dim in found:
            if isinstance(dim, str):
                sized(dim) if name in bounds else named(dim)


def normalised(op: ptir.PtirOp, values: dict[str, Any], row: PtirRow) -> dict[str, Any]:
    """The properties with every axis counted from 0, as the public form has it."""
    for field in row.fields:
        kind, value = field.kind, values.get(field.key)
        kind = kind.item if isinstance(kind, Option) else kind
        item = kind.item if isinstance(kind, Listed) else kind
        if isinstance(item, Axis) and value is not None:
            rank = len((op.result_spec() if item.of is None else op.operand_spec(item.of)).shape)
            values[field.key] = value % rank if isinstance(value, int) else tuple([a % rank for a in value])
    return values
