"""The gallery: each example beside a calculation of its own in NumPy, each script by the command of its page."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("optree", reason="optree is not installed")

import attention_maps
import heat_equation
import mind_array as ma
import orbit_fit
import pictures
import spirals

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(p.stem for p in (ROOT / "examples" / "gallery").glob("*.py") if p.stem != "pictures")
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
NEEDED = {"denoising": ("matplotlib", "sklearn")}
rng = np.random.default_rng(5)


# What they compute


def test_adam_is_that_of_its_authors():
    params = {"a": rng.standard_normal(3), "b": [rng.standard_normal((2, 2))]}
    adam = pictures.Adam(lambda p, s: s * ma.sum(p["a"] ** 4) + ma.sum(ma.exp(p["b"][0])), params, 0.1, "numpy")
    slopes = (lambda a: 2.0 * 4 * a**3, np.exp)
    expected = [params["a"], params["b"][0]]
    moments = [(0.0, 0.0), (0.0, 0.0)]
    for t in range(1, 6):
        value = 2 * np.sum(expected[0] ** 4) + np.sum(np.exp(expected[1]))
        assert adam.step(np.float64(2.0)) == pytest.approx(value, rel=1e-12)
        for i, slope in enumerate(slopes):
            g = slope(expected[i])
            m, v = 0.9 * moments[i][0] + 0.1 * g, 0.999 * moments[i][1] + 0.001 * g**2
            moments[i] = m, v
            expected[i] = expected[i] - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8 / np.sqrt(1 - 0.999**t))
    np.testing.assert_allclose(adam.params["a"], expected[0], rtol=1e-12)
    np.testing.assert_allclose(adam.params["b"][0], expected[1], rtol=1e-12)


def _blur() -> np.ndarray:
    """What the steps multiply each wave of a picture by."""
    waves = 2 * np.cos(2 * np.pi * np.arange(heat_equation.SIDE) / heat_equation.SIDE)
    return (1 + heat_equation.FLOW * (waves[:, None] + waves[None, :] - 4)) ** heat_equation.TIMES


def test_heat_flows_as_its_waves_decay():
    start = rng.random((heat_equation.SIDE, heat_equation.SIDE))
    expected = np.fft.ifft2(np.fft.fft2(start) * _blur()).real
    np.testing.assert_allclose(heat_equation.later(ma.asarray(start)), expected, atol=1e-13)


def test_the_gradient_of_heat_is_the_blurred_misfit():
    start, measured = rng.random((2, heat_equation.SIDE, heat_equation.SIDE))
    misfit = np.fft.ifft2(np.fft.fft2(start) * _blur()).real - measured
    expected = 2 / misfit.size * np.fft.ifft2(np.fft.fft2(misfit) * _blur()).real  # the blur is its own adjoint
    found = ma.grad(heat_equation.misfit)(ma.asarray(start), ma.asarray(measured))
    np.testing.assert_allclose(found, expected, atol=1e-16, rtol=1e-9)


def test_what_was_hot_is_found():
    truth = heat_equation.hidden()
    measured = np.asarray(heat_equation.later(ma.asarray(truth)))
    adam = pictures.Adam(heat_equation.loss, {"heat": ma.zeros(truth.shape, dtype=ma.float32)}, 0.3, "native")
    for _ in range(100):
        adam.step(measured)
    found = 1 / (1 + np.exp(-np.asarray(adam.params["heat"])))
    assert np.mean((found > 0.5) == (truth > 0.5)) > 0.98 > np.mean((measured > 0.5) == (truth > 0.5))


def _leapfrog(speed: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """The orbit, body by body."""
    x, v, dt = orbit_fit.START.copy(), speed.copy(), orbit_fit.PERIOD / orbit_fit.COUNT

    def pull() -> np.ndarray:
        found = np.zeros_like(x)
        for i in range(3):
            for j in range(3):
                if i != j:
                    found[i] += mass[j] * (x[j] - x[i]) / np.linalg.norm(x[j] - x[i]) ** 3
        return found

    path: list[np.ndarray] = []
    for _ in range(orbit_fit.COUNT):
        v = v + dt / 2 * pull()
        x = x + dt * v
        v = v + dt / 2 * pull()
        path.append(x)
    return np.stack(path)


def test_bodies_move_as_by_hand_and_return():
    found = np.asarray(orbit_fit.orbit({"speed": ma.asarray(orbit_fit.TRUTH), "mass": ma.ones(3)}))
    np.testing.assert_allclose(found, _leapfrog(orbit_fit.TRUTH, np.ones(3)), atol=1e-8)
    np.testing.assert_allclose(found[-1], orbit_fit.START, atol=5e-3)  # the figure of eight is periodic


def test_the_jacobian_of_an_orbit_is_that_of_differences():
    params, seen = orbit_fit.guess(), orbit_fit.observed(0)
    found = np.asarray(ma.jacfwd(orbit_fit.misses)(params, seen))

    def misses(p: np.ndarray) -> np.ndarray:
        return _leapfrog(p[:6].reshape(3, 2), p[6:])[orbit_fit.EVERY - 1 :: orbit_fit.EVERY].ravel()

    early = slice(0, 60)  # before small errors grow
    for i in range(9):
        step = 1e-6 * np.eye(9)[i]
        expected = (misses(params + step) - misses(params - step)) / 2e-6
        np.testing.assert_allclose(found[early, i], expected[early], atol=1e-6, rtol=1e-6)


def test_the_orbit_is_fitted_to_what_was_seen():
    seen = orbit_fit.observed(0)
    params, losses = orbit_fit.fit(orbit_fit.guess(), seen, 24, "native")
    assert losses[0] > 0.1
    assert losses[-1] < 1.2 * orbit_fit.NOISE**2
    assert np.abs(params - np.concatenate([orbit_fit.TRUTH.ravel(), np.ones(3)])).max() < 0.02


def test_spirals_are_told_apart():
    x, labels = spirals.spirals(100, 0)
    adam = pictures.Adam(spirals.loss, spirals.initial(0), 0.01, "native")
    for _ in range(250):
        adam.step(x, labels)
    assert spirals.accuracy(adam.params, *spirals.spirals(100, 1)) > 0.97
    linear = np.linalg.lstsq(np.c_[x, np.ones(len(x))], labels - 0.5, rcond=None)[0]
    assert np.mean((np.c_[x, np.ones(len(x))] @ linear > 0) == (labels > 0.5)) < 0.8, "no line tells them apart"


def test_the_loss_of_spirals_has_the_slopes_of_differences():
    x, labels = (a.astype(np.float64) for a in spirals.spirals(5, 0))
    params = ma.tree.map(lambda p: ma.asarray(np.asarray(p, np.float64)), spirals.initial(0))
    slopes = np.asarray(ma.grad(spirals.loss)(params, x, labels)[1]["w"])

    def at(change: float) -> float:
        weights = np.asarray(params[1]["w"]).copy()
        weights[3, 4] += change
        moved = [params[0], {"w": ma.asarray(weights), "b": params[1]["b"]}, params[2]]
        return float(spirals.loss(moved, ma.asarray(x), ma.asarray(labels)))

    assert slopes[3, 4] == pytest.approx((at(1e-6) - at(-1e-6)) / 2e-6, rel=1e-6)


def test_attention_learns_to_look_backwards():
    draws = np.random.default_rng(0)
    adam = pictures.Adam(attention_maps.loss, attention_maps.initial(0), 0.01, "native")
    for _ in range(80):
        adam.step(*attention_maps.rows(draws, attention_maps.BATCH))
    new, expected = attention_maps.rows(np.random.default_rng(1), 64)
    logits, weights = (np.asarray(a) for a in attention_maps.attention(adam.params, ma.asarray(new)))
    assert (logits.argmax(-1) == expected).all()
    assert (weights.mean(0).argmax(-1) == np.arange(attention_maps.LENGTH)[::-1]).all()
    p = {name: np.asarray(value, np.float64) for name, value in adam.params.items()}
    x = p["digits"][new] + p["places"]
    scores = (x @ p["queries"]) @ (x @ p["keys"]).swapaxes(1, 2) / np.sqrt(attention_maps.WIDTH)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    np.testing.assert_allclose(weights, shares, atol=1e-4)
    np.testing.assert_allclose(logits, shares @ (x @ p["values"]) @ p["out"], atol=1e-3)


def test_the_network_denoises_better_than_any_matrix():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (make test-all installs it)")
    import denoising

    train, clean = denoising.digits()
    draws = np.random.default_rng(1)
    noisy = denoising.blurred(np.random.default_rng(2), clean)
    adam = pictures.Adam(denoising.loss, denoising.initial(0), 0.003, "native")
    for _ in range(1000):
        batch = train[draws.integers(0, len(train), denoising.BATCH)]
        adam.step(denoising.blurred(draws, batch), batch)
    found = denoising.decibels(np.asarray(denoising.denoised(adam.params, ma.asarray(noisy))), clean)
    linear = denoising.decibels(denoising.best_linear(denoising.blurred(draws, train), train, noisy), clean)
    assert found > linear + 0.3 > denoising.decibels(noisy, clean) + 5


# Their scripts


def _run(name: str, *args: str) -> int:
    for module in NEEDED.get(name, ("matplotlib",)):
        pytest.importorskip(module, reason=f"{module} is not installed (make test-all installs it)")
    return importlib.import_module(name).main(args)


@pytest.mark.parametrize("name", [s for s in SCRIPTS if s != "sharded"])
def test_a_script_draws_the_same_picture_each_time(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    paths = [tmp_path / "deep" / "a.svg", tmp_path / "b.svg"]
    for path in paths:
        assert _run(name, "--steps", "8", "--out", str(path)) == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()
    said = capsys.readouterr().out
    assert "step    1 of 8: loss" in said
    assert "step    8 of 8: loss" in said
    assert f"picture: {paths[1]}" in said
    root = ElementTree.parse(paths[0]).getroot()
    assert root.tag.endswith("svg")
    assert len(list(root.iter("{http://www.w3.org/2000/svg}text"))) > 3, "it has words"


def test_eight_devices_learn_as_one_does(tmp_path: Path):
    """In a process of its own: how many devices there are is settled when JAX starts."""
    for module in ("matplotlib", "jax"):
        pytest.importorskip(module, reason=f"{module} is not installed (make test-all installs it)")
    command = [sys.executable, str(ROOT / "examples" / "gallery" / "sharded.py"), "--steps", "5", "--out", "a.svg"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (difference,) = re.findall(r"losses differ by ([\d.e+-]+) at most", done.stdout)
    assert float(difference) < 1e-6
    assert "all-reduce" in done.stdout
    words = [t.text for t in ElementTree.parse(tmp_path / "a.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert {str(i) for i in range(8)} <= set(words), "each device is shown"


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_without_matplotlib_says_what_is_missing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit) as stopped:
        importlib.import_module(name).main(["--steps", "1"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == f"{pictures.WITHOUT}\n"


@pytest.mark.parametrize("given", [["--steps", "0"], ["--steps", "-3"], ["--steps", "many"], ["--colour"]])
def test_options_that_make_no_sense_are_refused(given: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        heat_equation.main(given)
    assert stopped.value.code == 2
    assert given[0] in capsys.readouterr().err


# Their page


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_script_is_on_the_page_with_its_picture(name: str):
    assert f"python examples/gallery/{name}.py\n" in PAGE
    assert re.search(rf"!\[[^\]]{{30,}}\]\(gallery/{name}\.svg\)", PAGE), "a picture with words for those who do not see it"
    shown = ROOT / "docs" / "gallery" / f"{name}.svg"
    assert ElementTree.parse(shown).getroot().tag.endswith("svg")
    assert shown.stat().st_size < 200_000


def test_the_page_names_no_script_that_is_not_there():
    assert sorted(set(re.findall(r"gallery/(\w+)\.py", PAGE))) == SCRIPTS
