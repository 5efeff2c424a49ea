"""The text of the target: names cannot break out, equal programs and equal fusions give equal bytes, tables are closed."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from cuda_emulation import compiled
from mind_dialect.errors import MindError
from mind_dialect.ptir import FUSIBLE
from mind_lowering.cupy.cuda_cpp.text import module_text
from mind_lowering.cupy.kernels.body import Body
from mind_lowering.cupy.kernels.places import linear, place, repeated, reshaped
from mind_lowering.cupy.kernels.scalars import EMITTERS
from mind_lowering.cupy.launching import require
from mind_lowering.cupy.prepare import is_kernel, prepared
from mind_lowering.cupy.source import print_module
from mind_lowering.xp.functions import FUNCTIONS
from programs import parse

HOSTILE = (
    'x); system("',
    '"""); __import__("os").abort() #',
    "*/ } int x; /*",
    "a\\\n#include <b>",
    "for",
    "__global__",
    "k",
    "xp",
    "a" * 300,
    "??/",
)


def text_of(name: str) -> str:
    quoted = "".join(c if c.isalnum() and c.isascii() else "".join(f"\\{b:02X}" for b in c.encode()) for c in name)
    return f"""
module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @"{quoted}"(%x: tensor<4x8xf32> {{mind.name = "{quoted}"}}) -> (tensor<4x8xf32>, tensor<4xf32>) {{
    %e = ptir.exp %x : tensor<4x8xf32>
    %y = ptir.mul %e, %x : tensor<4x8xf32>
    %s = ptir.reduce %y kind = sum axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
    func.return %y, %s : tensor<4x8xf32>, tensor<4xf32>
  }}
}}
"""


def cuda_of(text: str) -> str:
    (found,) = re.findall(r'k\.module\(r"""(.*?)"""\)', text, re.DOTALL)
    return found


def plain(cuda: str, name: str) -> str:
    """The kernels under the name that a plain function gives them."""
    return cuda.replace(name, "f_k0")


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_changes_nothing_but_a_name(name: str) -> None:
    text = print_module(parse(text_of(name)))
    assert text.isascii()
    tree = ast.parse(text)
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert all(c in ("device", "k.module", "k.launch") or c.endswith(".kernel") for c in called)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    harmless = print_module(parse(text_of("f")))
    assert plain(cuda_of(text), f"{function.name}_k0") == plain(cuda_of(harmless), "f_k0")
    compiled(module_text([cuda_of(text)]), "sm_80")


def test_equal_fusions_are_one_kernel_and_equal_programs_one_text() -> None:
    body = "\n".join(
        f"%a{i} = ptir.exp %x{i} : tensor<4x4xf32>\n%b{i} = ptir.mul %a{i}, %x{i} : tensor<4x4xf32>" for i in range(3)
    )
    takes, gives = ", ".join(f"%x{i}: tensor<4x4xf32>" for i in range(3)), ", ".join(["tensor<4x4xf32>"] * 3)
    text = f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
    func.func @f({takes}) -> ({gives}) {{ {body}
    func.return %b0, %b1, %b2 : {gives} }} }}"""
    printed = print_module(parse(text))
    assert printed == print_module(parse(text))
    assert printed.count("k.launch") == 3
    assert printed.count("__global__") == 1


def test_what_no_kernel_can_hold_is_a_call() -> None:
    func = next(iter(parse(text_of("f").replace("f32", "complex<f32>")).body.block.ops))
    assert all(op.name != "ptir.fusion" or not is_kernel(op) for op in prepared(func).walk())  # type: ignore[arg-type]


def test_a_body_takes_all_that_is_fusible_but_products() -> None:
    views = {op for op, part in FUSIBLE.items() if part in ("view", "reduction")}
    products = {op for op, part in FUSIBLE.items() if part == "contraction"}
    assert set(FUSIBLE) == set(EMITTERS) | views | products
    assert Body.__doc__


def test_cupy_has_every_array_function_that_lowered_code_calls() -> None:
    cupy = pytest.importorskip("cupy", reason="no CuPy: its names cannot be looked up")
    names = [f.partition(".")[2] for f in FUNCTIONS if f.startswith("xp.") and not f.endswith(".reduce")]
    assert len(names) > 30
    assert [n for n in names if not hasattr(cupy, n)] == []
    assert all(hasattr(cupy, n) for n in ("sum", "amax", "amin", "RawModule", "from_dlpack", "frombuffer", "broadcast_to"))


@pytest.mark.parametrize("axes", [None, "0", "1", "0, 1"])
def test_huge_shapes_have_wide_indices_and_grids_that_cuda_takes(axes: str | None) -> None:
    text = text_of("f").replace("4x8", "65536x65536").replace("tensor<4xf32>", "tensor<65536xf32>")
    if axes is not None:
        result = "tensor<f32>" if axes == "0, 1" else "tensor<65536xf32>"
        text = text.replace("[1]", f"[{axes}]").replace("tensor<65536xf32>", result)
    printed = print_module(parse(text))
    assert "typedef long long I;" in printed
    assert "typedef int I;" not in printed
    grids = [int(g) for g in re.findall(r"grid=(\d+)", printed)]
    assert grids
    assert all(0 < g < 1 << 31 for g in grids)
    compiled(module_text([cuda_of(printed)]), "sm_90")


class Recorder:
    """Names for indices, as their texts."""

    def index(self, text: str) -> str:
        return f"({text})"


@pytest.mark.parametrize(
    ("shape", "operand"), [((2, 3, 4), (3, 1)), ((2, 3, 4), (4,)), ((2, 3, 4), (2, 1, 4)), ((5, 1, 6), (1, 6)), ((2, 3), ())]
)
def test_a_broadcast_finds_its_element(shape: tuple[int, ...], operand: tuple[int, ...]) -> None:
    names = Recorder()
    expected = np.broadcast_to(np.arange(int(np.prod(operand))).reshape(operand), shape).reshape(-1)
    index = linear(repeated(place((shape, "i")), operand, names), names).replace("/", "//")
    assert [eval(index, {"i": i}) for i in range(expected.size)] == expected.tolist()


def test_a_reshape_keeps_the_order() -> None:
    names = Recorder()
    at = place(((2, 6), "r"), ((5,), "c"))
    assert linear(reshaped(at, (3, 4, 5), names), names) == "(r * 5 + c)"
    assert linear(reshaped(at, (20, 3), names), names) == "(r * 5 + c)"


def test_without_a_gpu_the_target_is_unavailable() -> None:
    try:
        require()
    except MindError as e:
        failure = e
    else:
        pytest.skip("there is a GPU")
    assert failure.code == "E6002"
    assert "cupy" in failure.message
