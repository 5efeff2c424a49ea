"""Programs on a mesh of 8 devices: results are those of one device, collectives those of JAX's own gradient."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

from jax_models import LAYOUTS


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """What `sharded.py` found in a process of its own: the number of devices is set before JAX starts."""
    env = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(Path(__file__).parents[2] / "support"),
    }
    command = [sys.executable, Path(__file__).with_name("sharded.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


EXPECTED_KINDS = {
    "data parallel": {"all-reduce"},
    "data and tensor parallel": {"all-reduce"},
    "fully sharded": {"all-gather", "all-reduce"},
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_gradients_take_the_collectives_of_jax(name: str, report: dict[str, Any]) -> None:
    found = report[name]
    assert found["ours"] == found["jax"]
    assert set(found["ours"]) == EXPECTED_KINDS[name]


@pytest.mark.parametrize("name", LAYOUTS)
def test_gradients_as_functions_of_jax_take_no_other_kinds(name: str, report: dict[str, Any]) -> None:
    found = report[name]
    assert set(found["through jax"]) == set(found["jax"])


@pytest.mark.parametrize("name", LAYOUTS)
def test_results_are_those_of_jax(name: str, report: dict[str, Any]) -> None:
    assert report[name]["difference"] < 1e-5
    assert report[name]["difference through jax"] < 1e-5


def test_explain_names_the_mesh_and_the_layouts(report: dict[str, Any]) -> None:
    lines = report["data and tensor parallel"]["explain"]
    assert lines[0] == "@main_grad on xla: cpu, mesh data=4, model=2"
    assert "  qkv: _, _, model, _" in lines
    assert "  project: model, _, _" in lines


def test_a_module_states_its_own_mesh(report: dict[str, Any]) -> None:
    found = report["annotated"]
    assert found["explain"] == ["@f_grad on xla: cpu, mesh data=8", "  x: data, _"]
    assert found["collectives"] == {"all-reduce": 1}
    assert found["difference"] < 1e-5


def test_arrays_of_jax_stay_on_their_devices(report: dict[str, Any]) -> None:
    assert report["on device"] == {"type": True, "number": True}


ERRORS = {
    "indivisible": "E3003: sharding of input 'x': dimension 0 of extent 6 does not divide by data=4",
    "no axis": "E7003: sharding of input 'x': the mesh has no axis 'model', expected one of ['data']",
    "too many entries": "E7001: sharding of input 'w' is data,_,_, which has 3 entries, expected at most 2",
    "twice": "E7001: sharding of input 'x' is data,data, which uses the axis 'data' twice",
    "no input": "E7003: no input 'y' to shard, expected one of ['x', 'w']",
    "no mesh": "E7001: mesh 'data=x' has 'data=x', expected different names with sizes",
    "too few devices": "E6002: the target 'xla' runs on JAX; mesh data=16 has 16 devices, JAX has 8 (cpu)",
    "twice in mesh": "E7001: mesh 'a=2,a=2' names an axis twice",
    "without mesh": "E7001: shardings without a mesh",
    "stated nowhere": "E7001: mesh 'module': the module declares 0 meshes with axes, expected one sdy.mesh",
    "a number": "E7001: mesh is a int, expected a jax.sharding.Mesh or text",
    "an entry": "E7001: sharding of input 'x' is [3], which has the entry 3",
}


def test_every_error_is_expected(report: dict[str, Any]) -> None:
    assert set(report["errors"]) == set(ERRORS)


@pytest.mark.parametrize("name", ERRORS)
def test_meshes_and_shardings_that_do_not_fit(name: str, report: dict[str, Any]) -> None:
    assert report["errors"][name].startswith(ERRORS[name])
