"""Code is linked wherever there is memory: the sections of an object stay within reach of one another."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("llvmlite")

SCATTERED = """
import ctypes, mmap
import numpy as np
import mind_runtime
from mind_tools.frontends import parse

TEXT = '''builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {
    %s = ptir.sort %x axis = 0 descending = false : tensor<64xf32>
    %a = ptir.exp %s : tensor<64xf32>
    %b = ptir.tanh %a : tensor<64xf32>
    %c = ptir.sin %b : tensor<64xf32>
    func.return %c : tensor<64xf32>
  }
}'''
PAGE, FAR = 4096, 8 << 30
NOTHING, AT_THE_GIVEN_PLACE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, 0x100000
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def checked(n):
    program = mind_runtime.compile(parse(TEXT.replace("64", str(n))), target="native")
    x = np.linspace(2, -2, n, dtype="float32")
    np.testing.assert_allclose(program(x), np.sin(np.tanh(np.exp(np.sort(x)))), rtol=1e-5)


def gaps(above):
    end = None
    for line in open("/proc/self/maps"):
        first, last = (int(text, 16) for text in line.split()[0].split("-"))
        if end is not None and above < end < first < 1 << 47:
            yield end, first - end
        end = last


checked(32)
start = libc.mmap(None, FAR, 0, NOTHING, -1, 0)
for gap, size in list(gaps(start)):  # what is larger than a page has to go below what is reserved
    libc.mmap(gap, size, 0, NOTHING | AT_THE_GIVEN_PLACE, -1, 0)
for i in range(1, 4000, 2):  # and what is not, to its far end
    libc.munmap(start + FAR - (i + 1) * PAGE, PAGE)
for n in range(64, 90):
    checked(n)
print("linked")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is Linux's")
def test_sections_are_not_torn_apart_in_a_scattered_address_space() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MIND_CACHE_DIR": ""}
    found = subprocess.run([sys.executable, "-c", SCATTERED], capture_output=True, text=True, env=environment, check=False)
    assert (found.returncode, found.stdout) == (0, "linked\n"), found.stderr[-2000:]
