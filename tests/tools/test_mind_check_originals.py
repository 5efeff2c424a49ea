"""`mind-check` of models: the original as an executor, the first value in which it differs, and PyTorch's gradients."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp

from mind_dialect import ptir
from mind_dialect.program import functions
from mind_runtime.executors import Executor, Request, numpy_program, register_executor
from mind_translate.onnx import read_onnx
from tool_runs import mind_check

SYSTEM = "the model itself, by "


def executors(out: str) -> list[str]:
    return next(line for line in out.splitlines() if line.startswith(" ")).split()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """`sum(tanh(x @ w) + x @ w)`, whose values have names."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    h = onnx.helper
    weight = h.make_tensor("w", 1, [3, 2], [0.5, -1.0, 0.25, 2.0, 1.0, -0.5])
    nodes = [
        h.make_node("MatMul", ["x", "w"], ["product"], name="matmul"),
        h.make_node("Tanh", ["product"], ["bent"], name="tanh"),
        h.make_node("Add", ["bent", "product"], ["both"], name="add"),
        h.make_node("ReduceSum", ["both"], ["total"], name="sum", keepdims=0),
    ]
    x, total = h.make_tensor_value_info("x", 1, ["B", 3]), h.make_tensor_value_info("total", 1, [])
    onnx.save(h.make_model(h.make_graph(nodes, "g", [x], [total], [weight]), opset_imports=[h.make_opsetid("", 18)]),
              tmp_path / "model.onnx")  # fmt: skip
    return tmp_path / "model.onnx"


@pytest.fixture
def wrong_tanh() -> Iterator[None]:
    """An executor that takes the logistic function for tanh."""

    def program(request: Request) -> Any:
        func: FuncOp = request.func.clone()
        for op in [op for op in func.walk() if isinstance(op, ptir.TanhOp)]:
            put = ptir.LogisticOp(op.operands[0])
            block = op.parent
            assert block is not None
            block.insert_op_before(put, op)
            op.results[0].replace_all_uses_with(put.results[0])
            block.erase_op(op)
        return numpy_program(Request(func))

    register_executor("planted", Executor(program))
    yield
    register_executor("planted", None)


@pytest.mark.parametrize("absent", [(), ("onnxruntime",)], ids=["as installed", "reference evaluator"])
def test_an_onnx_model_agrees_with_itself(absent: tuple[str, ...], model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if absent:
        monkeypatch.setattr("mind_tools.originals.find_spec", lambda name: None)
    done = mind_check(model, "--executors", "numpy,original", "--size", "B=5")
    assert (done.status, done.err) == (0, ""), done.out
    assert executors(done.out) == ["numpy", "original"]
    system = "the reference evaluator of onnx" if absent else "O"
    assert f"original: {SYSTEM}{system}" in done.out


def test_all_executors_include_the_original_and_forget_it(model: Path) -> None:
    done = mind_check(model)
    assert done.status == 0, done.out
    assert "original" in executors(done.out)
    after = mind_check(model.with_name("absent.mlir"), "--executors", "original")
    assert after.status == 1


def test_a_wrong_executor_is_found_against_the_original_at_its_op(model: Path, wrong_tanh: None) -> None:
    done = mind_check(model, "--executors", "planted,original")
    assert (done.status, done.err) == (1, ""), done.out
    assert "planted and original disagree: result 0: " in done.out
    (line,) = [line for line in done.out.splitlines() if "the first op that differs" in line]
    assert "%bent = ptir.tanh %product" in line
    assert 'at loc("tanh"' in done.out


def test_every_value_of_the_model_can_be_compared(model: Path) -> None:
    from mind_tools.originals import original_onnx

    data = model.read_bytes()
    (func,) = functions(read_onnx(data, str(model)))
    comparable = original_onnx(data, str(model), func).comparable
    assert comparable is not None
    named = [op.results[0].name_hint for op in func.body.block.ops if op.results and comparable(op)]
    assert named == ["product", "bent", "both", "total"]


def torch_file(path: Path, *, training: bool) -> Path:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed (make test-all installs it)")
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 2)]
    made = torch.nn.Sequential(*layers).train(training)
    torch.export.save(torch.export.export(made, (torch.randn(3, 4),)), path)
    return path


@pytest.mark.parametrize("training", [False, True])
def test_a_program_of_torch_agrees_with_its_values_and_gradients(training: bool, tmp_path: Path) -> None:
    done = mind_check(torch_file(tmp_path / "net.pt2", training=training), "--executors", "numpy,original", "--grad")
    assert (done.status, done.err) == (0, ""), done.out
    assert f"original: {SYSTEM}PyTorch" in done.out
    found = [line.partition(":")[0].removeprefix("gradient by ") for line in done.out.splitlines() if "gradient by" in line]
    assert found == ["0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias", "input"]


def test_a_wrong_gradient_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = torch_file(tmp_path / "net.pt2", training=False)
    from mind_bridges.torch_original import TorchOriginal

    right = TorchOriginal.adjoints

    def wrong(self: Any, arrays: Any, cotangents: Any) -> Any:
        found = right(self, arrays, cotangents)
        return [found[0] * 1.01, *found[1:]]

    monkeypatch.setattr(TorchOriginal, "adjoints", wrong)
    done = mind_check(file, "--executors", "numpy", "--grad")
    assert done.status == 1
    assert [line.partition(":")[0] for line in done.out.splitlines() if "DISAGREES" in line] == ["gradient by 0.weight"]


def test_a_wrong_executor_against_torch(tmp_path: Path, wrong_tanh: None) -> None:
    file = torch_file(tmp_path / "net.pt2", training=False)
    done = mind_check(file, "--executors", "planted,original")
    assert done.status == 1
    assert "the original runs as a whole only; two other executors may show the op" in done.out
    done = mind_check(file, "--executors", "numpy,planted")
    assert " = ptir.tanh " in next(line for line in done.out.splitlines() if "the first op that differs" in line)


def test_without_torch_it_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.pt2").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "torch", None)
    done = mind_check(tmp_path / "net.pt2")
    assert (done.status, "Traceback" in done.err) == (1, False)
    assert "error[E6002]: PyTorch cannot be imported" in done.err


def test_a_file_that_is_none(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed (make test-all installs it)")
    (tmp_path / "net.pt2").write_bytes(b"nothing")
    for name in ("net.pt2", "absent.pt2"):
        done = mind_check(tmp_path / name)
        assert (done.status, "error[E7002]" in done.err, "Traceback" in done.err) == (1, True, False), done.err
