"""The table of forms: closed over the dialect, and true to the names and fields of the public data model."""

from typing import ClassVar

import pytest
from xdsl.irdl import irdl_op_definition

from mind_dialect.errors import MindError
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS
from mind_dialect.ptir.elementwise import UnaryOp
from mind_translate.ptir.decompose import DECOMPOSITIONS
from mind_translate.ptir.exporter import to_program
from mind_translate.ptir.kinds import REGION
from mind_translate.ptir.rows import ROW_OF, ROWS, UNIT_VARIANTS, VARIANTS, WITHOUT_ROW
from ptir_programs import function, module_of

PUBLIC = """
Constant ElementwiseUnary ElementwiseBinary DotGeneral:batch_lhs,batch_rhs,contract_lhs,contract_rhs,accum_dtype,out_dtype
Reduce:kind,axes,keepdims,accum_dtype,out_dtype ArgMax:axis,keepdims,output_dtype Compare:op Select Cast:dtype StopGradient
Reshape:new_shape Transpose:perm BroadcastTo:result_shape Slice:starts,sizes Concat:axis Pad:low,high,interior,pad_value
Tile:repeats Iota:shape,dtype,axis Take Gather:axis
ScatterAdd:update_window_dims,inserted_window_dims,scatter_dims_to_operand_dims,index_vector_dim
ScatterReduce:axis,reduce DynamicSlice:sizes DynamicUpdateSlice:sizes Cond:true_region,false_region While:cond_region,body_region
Scan:body_region,carry_count,scan_output_count ExtractPatches:window,strides,dilation,padding,pad_value
ReduceWindow:window_dims,strides,padding,base_dilation,window_dilation,reduce,accum_dtype RngUniform:shape,dtype
RngNormal:shape,dtype
TopK:k,axis,largest,indices_dtype SegmentReduce:kind,num_segments,accum_dtype,indices_are_sorted,unique Quantize:output_dtype,axis
Dequantize:axis,output_dtype Requantize:output_dtype,axis CustomCall:target,attrs
""".split()
"""The variants of the public form with their fields in order."""


@pytest.mark.quick
def test_every_op_has_a_row_or_a_reason():
    every = {*PTIR_OPS, *EXTENSION_OPS}
    assert set(ROW_OF) | set(WITHOUT_ROW) == every
    assert not set(ROW_OF) & set(WITHOUT_ROW)
    assert {op for op, reason in WITHOUT_ROW.items() if reason == "decomposed"} == set(DECOMPOSITIONS)
    assert {op for op in ROW_OF if ROW_OF[op].is_extension} == set(EXTENSION_OPS)


def test_variants_are_the_public_ones():
    expected = {name: fields.split(",") if fields else [] for name, _, fields in (row.partition(":") for row in PUBLIC)}
    found = {row.variant: [f.name for f in row.fields] for row in ROWS if not row.is_extension}
    assert found == expected
    assert set(VARIANTS) == {*expected, "Extension"}
    assert UNIT_VARIANTS == {"Select", "Take", "StopGradient"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.op.OPCODE)
def test_fields_are_the_properties_and_regions(row):
    regions = [f.key for f in row.fields if f.kind is REGION]
    assert sorted(regions) == sorted(row.op.REGION_NAMES)
    properties = [f.key for f in row.fields if f.kind is not REGION] + ([row.whole.key] if row.whole else [])
    assert sorted(properties) == sorted(row.op.CODECS)
    assert {f.key for f in row.fields if f.kind.optional and f.key != "attrs"} == row.op.OPTIONAL & set(row.op.CODECS)


def test_an_op_without_a_row_fails_naming_it():
    @irdl_op_definition
    class NewOp(UnaryOp):
        """What nobody has written a row for."""

        name = "ptir.neg"
        OPCODE: ClassVar = "brand_new"

    module = module_of(function("f32[2]", lambda x: [NewOp(x)]))
    with pytest.raises(MindError, match="E4000: no public form can express brand_new"):
        to_program(module)
