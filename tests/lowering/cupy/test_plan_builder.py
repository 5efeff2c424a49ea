"""What planners of ops share: memory, views and copies of a plan."""

from __future__ import annotations

import pytest

from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import BF16, F16, F32, PtirDType
from mind_lowering.cupy.planning.builder import LaunchBuilder
from mind_lowering.launch.memory_ops import AllocOp
from mind_lowering.launch.ref import Ref, read_ref


@pytest.mark.parametrize(("dtype", "bits"), [(F32, "010080ff"), (F16, "01fe"), (BF16, "81ff"), (F32, "00000080")])
def test_a_repeated_constant_keeps_its_bits_where_a_kernel_reads_it(dtype: PtirDType, bits: str) -> None:
    build = LaunchBuilder()
    one = build.constant(PtirLiteralAttr.from_bytes(dtype, (), bytes.fromhex(bits)))
    made = build.ready(build.view(one, Ref(dtype, (2, 3), (0, 0))), build.ops[0])
    assert isinstance(made.owner, AllocOp)
    assert made.owner.literal_value.data.data == bytes.fromhex(bits)
    assert read_ref(made.type) == Ref(dtype, (2, 3), (3, 1))
