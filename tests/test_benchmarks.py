"""The benchmarks of derivatives: they run, and the size of a gradient, which no clock decides, keeps its aim."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

for needed in ("rich", "matplotlib"):
    pytest.importorskip(needed, reason="the dependency group `bench` is not installed (make test-all installs it)")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A benchmark as a module, where a script would find what it imports."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def test_the_gradient_of_gpt2s_layer_has_not_many_more_ops_than_jax_has_equations(load: Any, tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="JAX is not installed (make test-all installs it)")
    gradient_size = load("gradient_size")
    assert gradient_size.main(["--small", "--tokens", "8", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "gradient_size.md").read_text(encoding="utf-8")
    ratios = [float(r) for r in re.findall(r"a ratio of ([\d.]+)", text)]
    assert len(ratios) == 2
    assert max(ratios) <= gradient_size.AIM
    ours, theirs = re.search(r"Ours has (\d+) ops; .* has (\d+) equations", text).groups()
    assert 100 < int(ours) < int(theirs) < 250, (
        "what is counted, by hand: about fifty ops forward, two or three times as many back"
    )


def test_the_cost_of_a_derivative_is_measured_for_each_program_and_mode(load: Any, tmp_path: Path) -> None:
    autodiff = load("autodiff")
    assert autodiff.main(["--ops", "60", "120", "--repeat", "1", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "autodiff.md").read_text(encoding="utf-8")
    rows = [row.split(" | ")[:2] for row in text.splitlines() if row.startswith("| ")][2:]
    assert rows == [[f"| {program}", mode] for program in autodiff.PROGRAMS for mode in autodiff.MODES]
    for program, make in autodiff.PROGRAMS.items():
        (func,) = autodiff.functions(make(120))
        assert 118 <= autodiff.ops_in(func) <= 124, program


def test_the_cost_of_core_ir_is_measured(load: Any, tmp_path: Path) -> None:
    assert not load("core_ir").main(["--ops", "60", "120", "--repeat", "1", "--out", str(tmp_path)])
    assert "| " in (tmp_path / "core_ir.md").read_text(encoding="utf-8")


def test_questions_about_symbolic_sizes_are_measured(load: Any, tmp_path: Path) -> None:
    assert load("extents").main(["--count", "10", "--out", str(tmp_path)]) == 0
    assert "| ours |" in (tmp_path / "extents.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("theirs", "dtype", "why"),
    [
        ([1.0, 2.0, -3.0], "float32", None),
        ([1.0, 2.001, -3.0], "float32", None),
        ([1.0, 2.01, -3.0], "float32", "1 of 3 elements"),
        ([1.0, 2.01, -3.0], "bfloat16", None),
        ([1.0, 2.00001, -3.0], "float64", "1 of 3 elements"),
        ([1.0, -3.0, 2.0], "float32", "2 of 3 elements"),
        ([1.0, float("nan"), -3.0], "float32", "1 of 3 elements"),
        ([1.0, 2.0], "float32", "has 2 elements"),
        ([1, 2, 3], "int64", "1 of 3 elements"),
    ],
    ids=str,
)
def test_results_of_sides_are_compared_element_by_element(load: Any, theirs: list[Any], dtype: str, why: str | None) -> None:
    pytest.importorskip("psutil", reason="psutil is not installed (make test-all installs it)")
    compare = load("peers.rounds").compare
    first = np.array([1, 2, -3], np.int64 if dtype == "int64" else np.float64)
    sides = {"one": ([first], [dtype]), "other": ([np.array(theirs)], [dtype])}
    if why is None:
        compare("work", sides)
    else:
        with pytest.raises(ArithmeticError, match=why):
            compare("work", sides)


def test_infinities_and_what_is_no_number_agree_with_themselves(load: Any) -> None:
    pytest.importorskip("psutil", reason="psutil is not installed (make test-all installs it)")
    values = np.array([np.inf, -np.inf, np.nan, 1.0])
    load("peers.rounds").compare("work", {name: ([values], ["float32"]) for name in ("one", "other")})


def test_the_native_target_is_measured_beside_sides_that_compute_the_same(load: Any, tmp_path: Path) -> None:
    for needed in ("llvmlite", "psutil"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (make test-all installs it)")
    native = load("native")
    sides = ["ours", "ours-numpy", "numpy", *(["jax"] if importlib.util.find_spec("jax") else [])]
    names = ["tiny", "cross_entropy", "layer_norm_gradient", "mlp", "gpt2_decode", "conv1"]
    options = ["--small", "--rounds", "1", "--seconds", "0.001", "--threads", "1", "--out", str(tmp_path)]
    assert native.main([*options, "--only", *names, "--sides", *sides]) == 0
    text = (tmp_path / "native.md").read_text(encoding="utf-8")
    assert "failed" not in text
    sections = text.split("\n## ")[1:]
    assert len(sections) == len(names)
    for section in sections:
        assert re.findall(r"^\| (ours, native|ours, numpy|NumPy|JAX) \| [\d.e+]+ \w+", section, re.MULTILINE)[: len(sides)]
    assert (tmp_path / "native.png").stat().st_size > 1000


def test_another_checkout_is_measured_as_one_more_side(load: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for needed in ("llvmlite", "psutil"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (make test-all installs it)")
    native = load("native")
    options = ["--small", "--rounds", "1", "--seconds", "0.001", "--threads", "1", "--out", str(tmp_path)]
    options += ["--only", "tiny", "--sides", "ours", "--before"]
    assert native.main([*options, str(BENCHMARKS.parent)]) == 0
    assert re.search(r"\| before, [\d.e+]+ \w+ \|", (tmp_path / "native.md").read_text(encoding="utf-8"))
    with pytest.raises(SystemExit):
        native.main([*options, str(tmp_path)])
    assert "has no environment" in capsys.readouterr().err


def test_families_of_programs_are_measured_on_a_page_of_their_own(load: Any, tmp_path: Path) -> None:
    for needed in ("llvmlite", "psutil"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (make test-all installs it)")
    native, families = load("native"), load("peers.families").FAMILIES
    options = ["--families", "--small", "--rounds", "1", "--seconds", "0.001", "--threads", "1", "--out", str(tmp_path)]
    assert native.main([*options, "--sides", "ours", "numpy"]) == 0
    text = (tmp_path / "native_families.md").read_text(encoding="utf-8")
    assert "failed" not in text
    assert len(re.findall(r"^\| ours, native \| [\d.e+]+ \w+", text, re.MULTILINE)) == len(families)
    numpy = len(re.findall(r"^\| NumPy \| ", text, re.MULTILINE))
    assert numpy == len(families) - 9, "no erf, windows, int8 in int32, LSTM, Hessian, gradients of a loop"


def test_memory_is_measured_beside_peers(load: Any, tmp_path: Path) -> None:
    for needed in ("llvmlite", "psutil"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (make test-all installs it)")
    memory = load("memory")
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("the peak of memory is asked of Linux")
    assert memory.main(["--only", "sort", "lstm", "--sides", "ours", "numpy", "--threads", "1", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "memory.md").read_text(encoding="utf-8")
    assert "failed" not in text
    programs, processes = (part.splitlines() for part in text.split("\n## ")[1:])
    for lines, least in ((programs, 4.0), (processes, 30.0)):
        ours, theirs, _, ratio = next(row for row in lines if row.startswith("| 256 rows")).split(" | ")[1:]
        assert float(ours) >= least, "4 MiB of results at least; for the input, as large, there may be free pages"
        assert float(theirs) >= least
        assert float(ratio.partition(" ")[0]) == pytest.approx(float(theirs) / float(ours), abs=0.02)
        assert next(row for row in lines if row.startswith("| LSTM")).endswith(" |  |  |  |"), "NumPy has no LSTM"


def test_the_least_peer_is_compared_where_memory_matters(load: Any) -> None:
    memory = load("memory")
    mib = 1 << 20

    def peaks(size: int) -> Any:
        return {"idle": {"now": 50, "files": 20}, "later": {"peak": 60 + size, "files": 30}, "first": {"peak": 0, "files": 0}}

    measure = memory.TABLES["Programs"][0]
    figures = {memory.OURS: peaks(8 * mib), "one": peaks(6 * mib), "other": peaks(20 * mib)}
    assert measure(figures["one"]) == 6 * mib
    assert memory.ratio(figures, measure) == (0.75, "one")
    assert memory.ratio({memory.OURS: peaks(mib), "one": peaks(3 * mib)}, measure) is None
    assert memory.ratio({memory.OURS: peaks(mib)}, measure) is None
    assert memory.ratio({"one": peaks(mib)}, measure) is None


@pytest.mark.parametrize("options", [[], ["--gradients"]], ids=["values", "gradients"])
def test_models_of_pytorch_are_measured_beside_peers(load: Any, tmp_path: Path, options: list[str]) -> None:
    for needed in ("llvmlite", "torch"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (make test-all installs it)")
    given = [*options, "--only", "ResNet-18, half", "--batches", "1", "--sides", "PyTorch", "--rounds", "1"]
    assert load("imported").main([*given, "--write", str(tmp_path / "imported.md")]) == 0
    text = (tmp_path / "imported.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| ResNet-18, half \|(.*)\|$", text, re.MULTILINE)
    batch, ours, theirs, ratio, rounds, _ = (cell.strip() for cell in row.split("|"))
    assert batch == "1"
    assert float(ratio) == pytest.approx(float(theirs) / float(ours), rel=0.03)
    assert re.fullmatch(r"PyTorch: ([\d.]+) \(\1 to \1\)", rounds), rounds


def test_a_server_loop_over_lengths_is_measured(load: Any, tmp_path: Path) -> None:
    pytest.importorskip("psutil", reason="the dependency group `bench` is not installed (make test-all installs it)")
    dynamic = load("dynamic")
    given = ["--sides", "numpy", "--seconds", "0.2", "--lengths", "2", "--tokens", "0", "--out", str(tmp_path)]
    assert dynamic.main(given) == 0
    text = (tmp_path / "dynamic.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| PTIR, general program alone \|(.*)\|$", text, re.MULTILINE)
    first, steady, _, worst, _, calls = (cell.strip() for cell in row.split("|"))
    assert all(float(cell) > 0 for cell in (first, steady))
    assert float(worst) >= 0
    assert int(calls) > 0
    assert "0 programs of at most 0" in text
