"""Headers of safetensors files, and objects of JSON: what is not as the format has it is refused, whatever the data hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES
from mind_runtime import TensorSpec
from mind_tools.inputs import read_input

GOOD: dict[str, Any] = {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}
DATA = np.arange(1, 7, dtype=np.float32).tobytes()


def written(path: Path, header: str, data: bytes = DATA) -> str:
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode() + data)
    return str(path)


def read(text: str, dtype: str = "f32", shape: tuple[int, ...] = (3,)) -> Any:
    return read_input(text, TensorSpec("x", DTYPES[dtype], shape), 0)


def refusal(text: str, dtype: str = "f32", shape: tuple[int, ...] = (3,)) -> MindError:
    with pytest.raises(MindError) as caught:
        read(text, dtype, shape)
    return caught.value


def test_a_good_header(tmp_path: Path) -> None:
    for offset in (0, 4, 12):
        entry = {**GOOD, "data_offsets": [offset, offset + 12]}
        found = read(written(tmp_path / "x.safetensors", json.dumps({"__metadata__": {"a": "b"}, "x": entry})))
        np.testing.assert_array_equal(found, np.arange(1, 4) + offset // 4)


NO_SIZES = ["3", 3, None, {"0": 3}, [3.0], ["3"], [None], [True], [-3], [[3]], [float("inf")], [float("nan")], [1e300]]


@pytest.mark.parametrize("field", ["shape", "data_offsets"])
@pytest.mark.parametrize("value", NO_SIZES, ids=str)
def test_sizes_that_are_none(tmp_path: Path, field: str, value: Any) -> None:
    """Alone, and at each place of an otherwise good list."""
    good: list[Any] = GOOD[field]
    values = [value]
    if isinstance(value, list):
        values += [[*good[:i], *value, *good[i + 1 :]] for i in range(len(good))]
    for given in values:
        e = refusal(written(tmp_path / "x.safetensors", json.dumps({"x": {**GOOD, field: given}})))
        assert (e.code, "the header of 'x' is malformed" in e.message) == ("E7002", True), e


@pytest.mark.parametrize("offsets", [[], [0], [0, 12, 12]], ids=str)
def test_offsets_that_are_not_two(tmp_path: Path, offsets: list[int]) -> None:
    assert (
        "malformed" in refusal(written(tmp_path / "x.safetensors", json.dumps({"x": {**GOOD, "data_offsets": offsets}}))).message
    )


@pytest.mark.parametrize("offsets", [[0, 11], [0, 13], [12, 0], [16, 28], [24, 36], [1 << 70, (1 << 70) + 12]], ids=str)
def test_offsets_that_are_not_of_the_data(tmp_path: Path, offsets: list[int]) -> None:
    e = refusal(written(tmp_path / "x.safetensors", json.dumps({"x": {**GOOD, "data_offsets": offsets}})))
    assert (e.code, "does not lie in it" in e.message) == ("E7002", True), e


@pytest.mark.parametrize("field", list(GOOD))
def test_fields_that_are_not_there(tmp_path: Path, field: str) -> None:
    entry = {key: value for key, value in GOOD.items() if key != field}
    assert "malformed" in refusal(written(tmp_path / "x.safetensors", json.dumps({"x": entry}))).message


@pytest.mark.parametrize("dtype", [None, 32, ["F32"], True])
def test_dtypes_that_are_no_text(tmp_path: Path, dtype: Any) -> None:
    assert "malformed" in refusal(written(tmp_path / "x.safetensors", json.dumps({"x": {**GOOD, "dtype": dtype}}))).message


def test_keys_that_are_there_twice(tmp_path: Path) -> None:
    """The names of arrays, the fields of one, and the names in a file of JSON."""
    one, other = json.dumps(GOOD), json.dumps({**GOOD, "data_offsets": [12, 24]})
    for header in (
        f'{{"x": {one}, "x": {other}}}',
        f'{{"y": {one}, "x": {one}, "y": {other}}}',
        f'{{"x": {one[:-1]}, "shape": [3]}}}}',
    ):
        e = refusal(written(tmp_path / "x.safetensors", header))
        assert (e.code, "twice" in e.message) == ("E7002", True), e
    (tmp_path / "x.json").write_text('{"x": [1, 2, 3], "x": [4, 5, 6]}')
    e = refusal(str(tmp_path / "x.json"))
    assert (e.code, "it has the key 'x' twice" in e.message) == ("E7002", True), e


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("byte", [0, 1, 2, 3, 128, 255])
def test_truth_values_are_0_and_1(tmp_path: Path, byte: int, at: int) -> None:
    data = bytearray([1, 0, 1])
    data[at] = byte
    header = json.dumps({"x": {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]}})
    text = written(tmp_path / "x.safetensors", header, bytes(data))
    if byte < 2:
        np.testing.assert_array_equal(read(text, "i1"), np.array(list(data), bool))
    else:
        e = refusal(text, "i1")
        assert (e.code, "not a boolean" in e.message) == ("E7002", True), e
