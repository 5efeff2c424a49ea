"""Arguments from a command line: literals, and files of every format that is read, damaged."""

from __future__ import annotations

import atexit
import io
import json
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from mind_runtime import TensorSpec
from mind_tools.inputs import read_input
from ptir_rows import typed

from .judge import Difference, Kind
from .mutations import mutated, mutated_bytes

TYPES = "f32[2,3] f32[] f64[3] si32[2] si64[0,2] i1[3] ui8[4] cf32[2] f16[2] bf16[2] f32[B,3] si4[2] ?".split()
LITERALS = (
    *(
        "1.5",
        "[[1, 2, 3], [4, 5, 6]]",
        "[]",
        "[[], []]",
        "nan",
        "[nan, -inf, 1e40]",
        "[true, false, true]",
        "[1+2j, 3j]",
        "fill:0",
    ),
    *("fill:-1.5", "random:7", "random:", "fill:[1]", "1e999", "0x10", "[1, 2, 3, 4]", "x.npy", "x.npz:y", "[-0.0, 5e-324, 127]"),
)
WORDS = "[ ] , nan inf -inf true false 1 0 -1 1e5 1_0 2147483648 fill: random: 1j 3+4j ( ) 1. .5 -0.0 1e-999 0b1 ٣".split()


def spec_of(text: str) -> TensorSpec:
    """The spec of an input called `x`."""
    return TensorSpec.of("x", typed("f32[2]" if text == "?" else text))


def _arrays() -> dict[str, Any]:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return {"x": x, "y": np.array([True, False, True]), "z": np.array([1, 2], np.int32)}


def _safetensors(arrays: dict[str, Any]) -> bytes:
    names = {"float32": "F32", "bool": "BOOL", "int32": "I32"}
    header, data = {}, b""
    for name, x in arrays.items():
        header[name] = {"dtype": names[x.dtype.name], "shape": list(x.shape), "data_offsets": [len(data), len(data) + x.nbytes]}
        data += x.tobytes()
    text = json.dumps({"__metadata__": {"a": "b"}, **header}).encode()
    return len(text).to_bytes(8, "little") + text + data


@cache
def seeds() -> dict[str, list[bytes]]:
    """Right files by format."""
    arrays = _arrays()
    npy = []
    for x in (*arrays.values(), np.zeros((0, 2), np.int64), np.asfortranarray(arrays["x"]), arrays["x"].astype(">f4")):
        file = io.BytesIO()
        np.save(file, x)
        npy.append(file.getvalue())
    npz = []
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", compression) as archive:
            for name, data in zip(arrays, npy, strict=False):
                archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1990, 1, 1, 0, 0, 0)), data, compression)
        npz.append(file.getvalue())
    texts = [
        json.dumps({k: v.tolist() for k, v in arrays.items()}),
        "[[1, 2, 3], [4, 5, 6]]",
        '{"x": NaN}',
        '{"x": [1e999, -Infinity]}',
    ]
    return {"npy": npy, "npz": npz, "safetensors": [_safetensors(arrays)], "json": [t.encode() for t in texts]}


def check(found: Any, spec: TensorSpec) -> None:
    """Raise `Difference` unless an array is what its declaration says."""
    if found.dtype != spec.numpy_dtype or not spec.fits(found.shape) or not found.flags.c_contiguous:
        raise Difference(f"an argument of another type is accepted\n{found.dtype}{found.shape} for {spec}")


class Files(Kind):
    """A damaged file. The first line of an input is the format and the type of the argument."""

    name, share = "files", 30

    def make(self, rng: Random) -> bytes:
        form = rng.choice(sorted(seeds()))
        data = rng.choice(seeds()[form])
        if form == "json" and rng.random() < 0.7:
            data = mutated(rng, data.decode(), [s.decode() for s in seeds()["json"]], WORDS).encode("utf-8", "surrogatepass")
        elif rng.random() < 0.95:
            data = mutated_bytes(rng, data)
        type = "f32[2,3]" if rng.random() < 0.6 else rng.choice(TYPES)
        return f"{form} {type} {rng.choice(('', '', '', ':x', ':y', ':'))}\n".encode() + data

    def run(self, data: bytes) -> None:
        head, _, content = data.partition(b"\n")
        form, type, name = head.decode().split(" ")
        path = folder() / f"input.{form}"
        path.write_bytes(content)
        check(read_input(f"{path}{name}", spec_of(type), 0), spec_of(type))


@cache
def folder() -> Path:
    """A folder for the files of this process, which goes with it."""
    made = tempfile.mkdtemp(prefix="fuzz-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


class Literals(Kind):
    """Text for an argument. The first line of an input is the type."""

    name, share = "literals", 60

    def make(self, rng: Random) -> bytes:
        text = mutated(rng, rng.choice(LITERALS), LITERALS, WORDS)
        return f"{rng.choice(TYPES)}\n{text}".encode("utf-8", "surrogatepass")

    def run(self, data: bytes) -> None:
        type, _, text = data.decode("utf-8", "surrogatepass").partition("\n")
        check(read_input(text, spec_of(type), 0), spec_of(type))


def kinds() -> list[Kind]:
    """The kinds of arguments of a command line."""
    return [Literals(), Files()]
