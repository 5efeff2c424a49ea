"""`mind-check` of artifacts of `jax.export`: JAX as the executor `original`, and its gradients."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tool_runs import mind_check

NO_DERIVATIVE = "gradient: not compared with JAX: the artifact holds no derivative; write it with exported.serialize(vjp_order=1)"


def layer(x: Any, n: Any, unused: Any, w: Any) -> Any:
    """Two results, of which the first, by name, is no float; one argument is not read, and one is a dict."""
    import jax.numpy as jnp

    h = x @ w["kernel"]
    return {"count": n + 1, "y": jnp.where(h > 0, jnp.tanh(h), 0.5 * h).sum(0) + w["bias"]}


def arguments(dtype: str) -> tuple[Any, ...]:
    import jax

    spec = jax.ShapeDtypeStruct
    weights = {"kernel": spec((3, 4), dtype), "bias": spec((4,), dtype)}
    return spec((2, 3), dtype), spec((), "int32"), spec((5,), dtype), weights


def artifact(path: Path, f: Callable[..., Any], args: Any, *, vjp_order: int = 1, **options: Any) -> Path:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from jax import export

    with jax.enable_x64(True):
        path.write_bytes(export.export(jax.jit(f), **options)(*args).serialize(vjp_order=vjp_order))
    return path


def adjoints(out: str) -> list[str]:
    return [line.partition(":")[0].removeprefix("gradient by ") for line in out.splitlines() if "gradient by" in line]


@pytest.fixture(autouse=True)
def _needs_jax() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_an_artifact_agrees_with_its_values_and_gradients(dtype: str, tmp_path: Path) -> None:
    done = mind_check(artifact(tmp_path / "f.jaxexport", layer, arguments(dtype)), "--executors", "numpy,original", "--grad")
    assert (done.status, done.err) == (0, ""), done.out
    assert "original: the model itself, by JAX" in done.out
    assert adjoints(done.out) == ["x", "w['bias']", "w['kernel']"]
    assert done.out.count("agrees with JAX") == 3


def test_an_artifact_without_a_derivative_says_so(tmp_path: Path) -> None:
    file = artifact(tmp_path / "f.jaxexport", layer, arguments("float32"), vjp_order=0)
    done = mind_check(file, "--executors", "numpy,original", "--grad")
    assert (done.status, done.err) == (0, ""), done.out
    assert NO_DERIVATIVE in done.out.splitlines()
    assert not adjoints(done.out)


def test_open_dimensions_have_the_sizes_given(tmp_path: Path) -> None:
    import jax
    from jax import export

    (b,) = export.symbolic_shape("B")
    spec = jax.ShapeDtypeStruct((b, 3), "float32")
    file = artifact(tmp_path / "f.jaxexport", lambda x: jax.numpy.tanh(x) * x.sum(), (spec,))
    done = mind_check(file, "--executors", "numpy,original", "--grad")
    assert (done.status, done.err, len(adjoints(done.out))) == (0, "", 1), done.out


def test_another_suffix_needs_the_option(tmp_path: Path) -> None:
    file = artifact(tmp_path / "f.bin", lambda x: -x, (np.ones(3, np.float32),))
    done = mind_check(file, "-f", "jaxexport", "--executors", "numpy,original")
    assert (done.status, done.err) == (0, ""), done.out
    assert "error[E7002]" in mind_check(file).err


def test_a_wrong_gradient_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mind_bridges.jax_original import JaxOriginal

    right = JaxOriginal.adjoints

    def wrong(self: Any, arrays: Any, cotangents: Any) -> Any:
        found = right(self, arrays, cotangents)
        return [found[0] * 1.01, *found[1:]]

    file = artifact(tmp_path / "f.jaxexport", layer, arguments("float32"))
    monkeypatch.setattr(JaxOriginal, "adjoints", wrong)
    done = mind_check(file, "--executors", "numpy", "--grad")
    assert done.status == 1
    assert [line.partition(":")[0] for line in done.out.splitlines() if "DISAGREES" in line] == ["gradient by x"]


def test_a_derivative_of_ones_own_is_the_one_that_counts(tmp_path: Path) -> None:
    """JAX exports what `custom_vjp` says; the program holds only the values, whose derivative is another."""
    import jax

    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jax.numpy.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (2 * g,))
    done = mind_check(artifact(tmp_path / "f.jaxexport", f, (np.ones(3, np.float32),)), "--executors", "numpy,original", "--grad")
    assert done.status == 1
    assert "DISAGREES with JAX" in done.out


def test_an_artifact_for_another_platform_is_not_run(tmp_path: Path) -> None:
    import jax

    platform = "tpu" if jax.default_backend() != "tpu" else "cuda"
    args = (np.ones(3, np.float32),)
    file = artifact(tmp_path / "f.jaxexport", lambda x: jax.numpy.sin(x), args, platforms=[platform])
    done = mind_check(file, "--executors", "numpy,original", "--grad")
    assert (done.status, done.err) == (0, ""), done.out
    reason = f"the artifact is for {platform}, of which JAX has no device here"
    assert f"original: refused: E6003 {reason}" in done.out
    assert f"gradient: not compared with JAX: {reason}" in done.out


@pytest.mark.parametrize("data", [b"", b"no", b"nothing", b"\xff" * 64])
def test_a_file_that_is_none(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "f.jaxexport").write_bytes(data)
    for name in ("f.jaxexport", "absent.jaxexport"):
        done = mind_check(tmp_path / name)
        assert (done.status, "error[E7002]" in done.err, "Traceback" in done.err) == (1, True, False), done.err


def test_without_jax_it_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f.jaxexport").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "jax", None)
    done = mind_check(tmp_path / "f.jaxexport")
    assert (done.status, "Traceback" in done.err, "error[E6002]" in done.err) == (1, False, True), done.err
