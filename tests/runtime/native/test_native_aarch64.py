"""
Code for AArch64, run by qemu: the results are those of NumPy.

Code for NEON has vectors of 16 bytes, whatever vector length the machine has; code for SVE has the length that its kind states
and runs where vectors have that length. It needs qemu-aarch64 and a C compiler for aarch64-linux-gnu,
which Debian has as qemu-user, gcc-aarch64-linux-gnu and libc6-dev-arm64-cross; tests/install_qemu.sh installs them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mind_runtime
from mind_dialect import ptir
from mind_lowering.kernels import NUMPY
from ptir_evaluator import function_of
from ptir_forms import program, softmax

pytest.importorskip("llvmlite", reason="no llvmlite: no native code")

from mind_lowering.native import TARGETS, Foreign, calling
from mind_lowering.native.options import NativeOptions
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.target_info import TargetInfo
from mind_runtime.native import jit

QEMU, COMPILER = "qemu-aarch64", "aarch64-linux-gnu-gcc"
absent = [name for name in (QEMU, COMPILER) if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(absent), reason=f"no {' and no '.join(absent)}: code for AArch64 cannot run here")

HARNESS = """\
#include <stdint.h>
#include <stdio.h>
static uint64_t record[4096] __attribute__((aligned(64)));
%(memory)s
%(entries)s
int main(void) {
  void *table[%(size)d] = {record};
%(places)s
%(reads)s
%(calls)s
%(writes)s
  return 0;
}
"""


def product(x: Any, w: Any) -> Any:
    return ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))


def byte_product(x: Any, w: Any) -> Any:
    total = "si32" if str(x.type).endswith("si8>") else "ui32"
    dims = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (1,), "contract_rhs": (0,)}
    return ptir.DotGeneralOp(x, w, **dims, accum_dtype=total, out_dtype=total)


def there_and_back(*lengths: int) -> Callable[..., Any]:
    """Fourier transforms of real numbers, and back."""
    return lambda x: ptir.FftOp(ptir.FftOp(x, kind="rfft", lengths=lengths), kind="irfft", lengths=lengths)


PROGRAMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "elementwise": ("f32[37]", lambda x: ptir.TanhOp(ptir.ExpOp(ptir.MulOp(x, x)))),
    "rows": ("f32[9,50]", softmax),
    "double": ("f64[33]", lambda x: ptir.LogOp(ptir.AddOp(ptir.MulOp(x, x), ptir.ExpOp(x)))),
    "a product": ("f32[13,21] f32[21,17]", product),
    "a transpose": ("f32[19,35]", lambda x: ptir.TransposeOp(x, perm=(1, 0))),
    "integers": ("si32[41] si32[41]", lambda x, y: ptir.AddOp(ptir.MulOp(x, y), x)),
    "signed bytes": ("si8[13,24] si8[24,17]", byte_product),
    "unsigned bytes": ("ui8[13,24] ui8[24,33]", byte_product),
    "transforms": ("f32[2,20,33]", there_and_back(20, 33)),
    "transforms by chirps": ("f64[9,37]", there_and_back(37)),
    "a long transform": ("f32[40000]", there_and_back(40000)),
    "lines in order": ("f32[19,20]", lambda x: ptir.SortOp(x, axis=1, descending=False)),
    "long lines in order": ("f64[9,50]", lambda x: ptir.SortOp(x, axis=1, descending=True)),
    "the best of lines": ("f32[9,50]", lambda x: ptir.TopKOp(x, axis=1, k=7, largest=True, indices_dtype="si32").results[1]),
    "a cast": ("f16[29]", lambda x: ptir.ExpOp(x)),
}
"""Inputs and body by name; none of them leaves an op to NumPy."""
CPUS = {
    "neon": ("cortex-a57", "max,sve=on,sve-default-vector-length=16", "max,sve=on,sve-default-vector-length=64"),
    "neondot": ("cortex-a76", "neoverse-n1"),
    "sve256": ("max,sve=on,sve-default-vector-length=32",),
}
"""For NEON a machine without SVE, and ones with vectors of 16 and 64 bytes; for SVE one whose vectors have the length."""


def executable(
    module: Any, host: TargetInfo, outputs: list[tuple[Any, tuple[int, ...]]], inputs: list[Any], folder: Path
) -> Path:
    """A program that reads the inputs, runs the entries and writes the results, as raw bytes."""
    native = lower(prepared(function_of(module), host), host)
    assert not [step for step in native.steps if isinstance(step, Foreign)], "NumPy is not on the other machine"
    (folder / "code.o").write_bytes(jit.object_code(native.text, host))
    constants = {
        b.place: np.require(NUMPY.constant(value=literal), requirements=["C"]).tobytes() for b, literal in native.constants
    }
    given = dict(zip(native.inputs, [x.nbytes for x in inputs], strict=True))
    results = {
        b.place: int(np.dtype(d).itemsize * np.prod(s, dtype=int)) for b, (d, s) in zip(native.outputs, outputs, strict=True)
    }
    assert all(memory.is_new for memory in native.outputs)
    sizes = {1: native.arena} | given | results | {place: len(data) for place, data in constants.items()}
    names = {f"e{i}": step.name for i, step in enumerate(native.steps)}
    source = HARNESS % {
        "size": native.table,
        "memory": "\n".join(
            f"static unsigned char m{p}[{max(n, 1)}] __attribute__((aligned(64)))"
            + (f" = {{{','.join(map(str, constants[p]))}}};" if p in constants else ";")
            for p, n in sizes.items()
        ),
        "entries": "\n".join(f'extern int64_t {short}(void *) __asm__("{name}");' for short, name in names.items()),
        "places": "\n".join(f"  table[{p}] = m{p};" for p in sizes),
        "reads": "\n".join(f"  if (fread(m{p}, 1, {n}, stdin) != {n}) return 2;" for p, n in given.items()),
        "calls": "\n".join(f"  if ({short}(table)) return 3;" for short in names),
        "writes": "\n".join(f"  fwrite(m{p}, 1, {n}, stdout);" for p, n in results.items()),
    }
    (folder / "main.c").write_text(source)
    command = [COMPILER, "-static", "-O1", "main.c", "code.o", "-lm", "-o", "run"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.mark.parametrize("isa", CPUS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_numpy(name: str, isa: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "SHARED", np.inf)  # the pool is not on the other machine
    signature, body = PROGRAMS[name]
    module = program(signature, body)
    reference = mind_runtime.compile(module)
    rng = np.random.default_rng(7)
    inputs = [np.asarray(rng.normal(size=spec.shape) * 2).astype(spec.numpy_dtype) for spec in reference.inputs]
    if "bytes" in name:
        inputs = [rng.integers(0, 256, x.shape).astype(np.uint8).view(x.dtype) for x in inputs]
    outputs = [(spec.numpy_dtype, spec.shape) for spec in reference.outputs]
    binary = executable(module, TARGETS[isa], outputs, inputs, tmp_path)
    given = b"".join(x.tobytes() for x in inputs)
    printed: list[bytes] = []
    for cpu in CPUS[isa]:
        done = subprocess.run([QEMU, "-cpu", cpu, binary], input=given, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, (cpu, done.stderr)
        printed.append(done.stdout)
    assert printed == [printed[0]] * len(CPUS[isa]), "the machine changes no bit"
    expected = reference(*inputs)
    found = np.frombuffer(printed[0], expected.dtype).reshape(expected.shape)
    if expected.dtype.kind in "iu":
        np.testing.assert_array_equal(found, expected)
    else:
        info = np.finfo(expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=64 * float(info.eps), atol=64 * float(info.eps))


@pytest.mark.parametrize("isa", CPUS)
def test_subnormal_numbers_count_as_zero_by_option(isa: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "SHARED", np.inf)  # the pool is not on the other machine
    x = np.array([2.0**-130, -(2.0**-127), 2.0**-126, 1, -0.0], np.float32)
    for host, expected in (
        (TARGETS[isa], x + x),
        (NativeOptions(flush_subnormals=True).of_target(TARGETS[isa]), np.array([0, -0.0, 2.0**-125, 2, -0.0], np.float32)),
    ):
        folder = tmp_path / str(host.flushes)
        folder.mkdir()
        binary = executable(program("f32[5]", lambda x: ptir.AddOp(x, x)), host, [(np.float32, (5,))], [x], folder)
        done = subprocess.run(
            [QEMU, "-cpu", CPUS[isa][0], binary], input=x.tobytes(), capture_output=True, timeout=120, check=False
        )
        assert done.stdout == expected.tobytes(), (np.frombuffer(done.stdout, np.float32), done.stderr)


@pytest.mark.parametrize("isa", ["neondot", "neon"])
def test_vectors_are_those_of_neon(isa: str) -> None:
    """16 bytes wide, and none that scale with the machine."""
    assert TARGETS[isa].vector_bytes == 16
    module = program("f32[64]", lambda x: ptir.MulOp(x, x))
    text = lower(prepared(function_of(module), TARGETS[isa]), TARGETS[isa]).text
    assert "<4 x float>" in text
    assert "vscale" not in text


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "integers"])
def test_vectors_are_those_of_sve(name: str) -> None:
    """32 bytes wide, in registers that scale, on machines where they scale to that."""
    host = TARGETS["sve256"]
    text = lower(prepared(function_of(program(*PROGRAMS[name])), host), host).text
    assert "vscale_range(2,2)" in text
    assert re.search(r"\bz\d+\.[hsd]\b", jit.assembly(text, host))
