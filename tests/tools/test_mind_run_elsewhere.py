"""`mind-run` of files that another system wrote: exported programs of PyTorch with their weights, artifacts of `jax.export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tool_runs import mind_run


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Path, Any]:
    """A `.pt2` file of a layer with weights and a buffer, and the layer."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.manual_seed(0)

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)
            self.register_buffer("scale", torch.tensor(2.5))

        def forward(self, x: Any) -> Any:
            return torch.tanh(self.linear(x)) * self.scale

    layer = Layer().eval()
    torch.export.save(torch.export.export(layer, (torch.ones(4, 3),)), tmp_path / "layer.pt2")
    return tmp_path / "layer.pt2", layer


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_an_exported_program_brings_its_weights(exported: tuple[Path, Any], target: str, tmp_path: Path) -> None:
    import torch

    if target == "native":
        pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    file, layer = exported
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    np.save(tmp_path / "x.npy", x)
    done = mind_run(file, f"x={tmp_path / 'x.npy'}", "--target", target, "--save", tmp_path / "results.npz")
    assert (done.status, done.err) == (0, "")
    (found,) = np.load(tmp_path / "results.npz").values()
    np.testing.assert_allclose(found, layer(torch.from_numpy(x)).detach().numpy(), rtol=1e-6, atol=1e-6)


def test_a_weight_that_is_given_replaces_the_one_of_the_file(exported: tuple[Path, Any], tmp_path: Path) -> None:
    done = mind_run(exported[0], "x=fill:1", "scale=0", "--save", tmp_path / "r.npz")
    assert (done.status, done.err) == (0, "")
    (found,) = np.load(tmp_path / "r.npz").values()
    assert not found.any()
    assert mind_run(exported[0], "x=fill:1", "--all", "fill:0").out == mind_run(exported[0], "x=fill:1").out


def test_inputs_that_are_no_weights_are_missing(exported: tuple[Path, Any]) -> None:
    done = mind_run(exported[0])
    assert done.status == 1
    assert "E2007" in done.err
    assert "missing: x (" in done.err


def test_a_pt2_file_that_is_none_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    (tmp_path / "bad.pt2").write_bytes(b"PK not a program")
    done = mind_run(tmp_path / "bad.pt2")
    assert (done.status, done.out) == (1, "")
    assert "E7002" in done.err
    assert "bad.pt2" in done.err


def test_an_artifact_of_jax_runs(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from jax import export

    def f(x: Any, w: Any) -> Any:
        return jax.numpy.tanh(x @ w)

    specs = [jax.ShapeDtypeStruct(s, "float32") for s in ((2, 3), (3, 2))]
    data = export.export(jax.jit(f))(*specs).serialize()
    (tmp_path / "f.jaxexport").write_bytes(data)
    (tmp_path / "other").write_bytes(data)
    done = mind_run(tmp_path / "f.jaxexport", "x=[[1, 2, 3], [4, 5, 6]]", "w=fill:0.125", "--save", tmp_path / "r.npz")
    assert (done.status, done.err) == (0, "")
    (found,) = np.load(tmp_path / "r.npz").values()
    np.testing.assert_allclose(found, np.tanh([[0.75, 0.75], [1.875, 1.875]]), rtol=1e-6)
    again = mind_run(tmp_path / "other", "-f", "jaxexport", "x=fill:1", "w=fill:0")
    assert (again.status, again.err) == (0, "")


def test_an_artifact_that_is_none_is_named(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    (tmp_path / "bad.jaxexport").write_bytes(b"no artifact")
    done = mind_run(tmp_path / "bad.jaxexport")
    assert (done.status, done.out) == (1, "")
    assert "E7002" in done.err
