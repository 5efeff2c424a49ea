"""Generating: a session agrees with reading all at once, caches grow and are not left behind, the program says what it does."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.program import input_names
from models import gpt2, optimised
from models.peers import by_numpy
from models.session import EAGER, Compiler, Session, capacity_for
from models.weights import Weights, save_safetensors
from ptir_evaluator import evaluate, function_of

pytest.importorskip("rich", reason="the extra `models` is not installed (make test-all installs it)")
import generate

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COMPILERS = (mind_runtime.bind, optimised.compile, partial(optimised.compile, specialize=EAGER))
WEIGHTS = gpt2.random_weights(gpt2.SMALL, 1)


def by_kernels(module: ModuleOp, weights: Weights, donate: Sequence[str] = ()) -> Callable[..., tuple[Any, ...]]:
    """A compiler: the program op by op."""
    func = function_of(module)
    names = input_names(func)

    def run(*arguments: np.ndarray) -> tuple[Any, ...]:
        given = iter(arguments)
        return tuple(evaluate(func, [weights[name] if name in weights else next(given) for name in names]))

    return run


def session(compiler: Compiler = by_kernels) -> Session:
    """A new session of the small model."""
    return Session(gpt2.SMALL, WEIGHTS, compiler)


@pytest.mark.parametrize("compiler", [by_kernels, *COMPILERS], ids=["op by op", "compiled", "optimised", "eager"])
def test_a_session_agrees_with_numpy_beyond_its_first_cache_to_the_end_of_the_context(compiler: Compiler) -> None:
    tokens = np.random.default_rng(0).integers(0, 256, 64).astype(np.int32)
    expected = by_numpy.GPT2(gpt2.SMALL, WEIGHTS)(tokens)
    ours, capacities = session(compiler), []
    found = [ours.read(tokens[:3].tolist())]
    for token in tokens[3:]:
        found.append(ours.append(int(token)))
        capacities.append(ours.capacity)
    np.testing.assert_allclose(found, expected[2:], atol=1e-4 * abs(expected).max())
    assert sorted(set(capacities)) == [4, 8, 16, 32, 64]
    with pytest.raises(MindError, match="E7001"):
        ours.append(0)


@pytest.mark.parametrize("compiler", COMPILERS, ids=["compiled", "optimised", "eager"])
def test_a_step_updates_the_cache_in_place(compiler: Compiler) -> None:
    """Whose memory a cache has after the step: the one it had before, and no more than that is made."""
    ours = session(compiler)
    ours.read([1, 2, 3, 4])
    before = [c.ctypes.data for c in ours.caches]
    ours.append(5)
    assert [c.ctypes.data for c in ours.caches] == before


def test_a_session_that_is_reset_starts_anew() -> None:
    ours = session()
    first = ours.read([1, 2, 3])
    ours.append(4)
    ours.reset()
    np.testing.assert_array_equal(ours.read([1, 2, 3]), first)


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda s: s.read([]), "E7001"),
        (lambda s: s.read([0] * 65), "E7001"),
        (lambda s: (s.read([1]), s.read([1])), "E7001"),
        (lambda s: s.append(1), "E7001"),
        (lambda s: s.read([256]), "E6001"),
        (lambda s: (s.read([1]), s.append(-1)), "E6001"),
    ],
)
def test_misuse_of_a_session_is_a_coded_error(act: Callable[[Session], object], code: str) -> None:
    with pytest.raises(MindError) as caught:
        act(session())
    assert caught.value.code == code


@pytest.mark.parametrize(("length", "capacity"), [(1, 1), (2, 2), (3, 4), (64, 64), (65, 100), (100, 100)])
def test_capacities_are_powers_of_two_up_to_the_context(length: int, capacity: int) -> None:
    assert capacity_for(length, 100) == capacity


def test_bytes_are_the_first_tokens_of_the_published_vocabulary() -> None:
    """Known places: `!` is 0, a new line 198, a space 220."""
    assert generate.tokens_of("! \n~\x00") == [0, 220, 198, 93, 188]
    every = bytes(range(256)).decode("utf-8", errors="surrogateescape")
    assert sorted(generate.tokens_of(every)) == list(range(256))
    assert generate.Names(None).text(generate.tokens_of("naïve →")) == "naïve →"


def test_a_vocabulary_names_tokens(tmp_path: Path) -> None:
    path = tmp_path / "vocab.json"
    path.write_text('{"The": 0, "\\u0120capital": 1, "\\u010a": 2}', encoding="utf-8")
    assert generate.Names(path).text([0, 1, 2, 3]) == "The capital\n<3>"


def test_choosing() -> None:
    logits, rng = np.array([0.0, 3.0, 2.0, -1.0], np.float32), np.random.default_rng(0)
    assert generate.choose(logits, rng, 0.0, 0) == 1
    drawn = [generate.choose(logits, rng, 1.0, 2) for _ in range(300)]
    assert set(drawn) == {1, 2}
    assert 0.6 < drawn.count(1) / 300 < 0.85, "e / (1 + e) is 0.73"
    with pytest.raises(MindError, match="E6006"):
        generate.choose(np.array([0.0, np.nan]), rng, 0.0, 0)


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The program as a function of its arguments: status, output, errors."""

    def run(*args: object) -> tuple[int, str, str]:
        status = generate.main([str(a) for a in args])
        return (status, *capsys.readouterr())

    return run


def line(output: str, start: str) -> str:
    """The one line of an output that starts so, without that."""
    (found,) = (part.removeprefix(start) for part in output.splitlines() if part.startswith(start))
    return found


def test_it_generates_what_reading_all_at_once_would(program: Any, tmp_path: Path) -> None:
    save_safetensors_or_skip(tmp_path / "w.safetensors")
    status, out, err = program("--weights", tmp_path / "w.safetensors", "--heads", 4, "--tokens", "1,2,3", "--length", 5)
    assert (status, err) == (0, "")
    tokens = [1, 2, 3]
    for _ in range(5):
        logits = by_numpy.GPT2(gpt2.SMALL, WEIGHTS)(np.array(tokens, np.int32))
        tokens.append(int(logits[-1].argmax()))
    assert line(out, "tokens ") == ",".join(map(str, tokens[3:]))


def save_safetensors_or_skip(path: Path) -> None:
    """The small model's weights in a file."""
    pytest.importorskip("safetensors", reason="the extra `models` is not installed (make test-all installs it)")
    save_safetensors(path, WEIGHTS)


def test_it_shows_progress_speed_and_text(program: Any) -> None:
    status, out, err = program("--small", "--prompt", "Hello", "--length", 8, "--temperature", 1, "--top-k", 5)
    assert (status, err) == (0, "")
    assert "8/8" in out
    assert line(out, "text ").startswith("'Hello")
    assert "prompt of 5 tokens in " in out
    assert "7 steps at " in out
    assert out.count("tokens/s") == 2


def test_the_target_is_that_which_is_asked_for(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, bind = list[str](), mind_runtime.bind
    monkeypatch.setattr(mind_runtime, "bind", lambda *given, target, **how: asked.append(target) or bind(*given, **how))
    for given, expected in (((), "numpy"), (("--target", "native"), "native")):
        assert program("--small", "--length", 2, *given)[0] == 0
        assert asked == [expected], "one program reads the prompt and each token"
        asked.clear()


def test_a_seed_fixes_the_text(program: Any) -> None:
    given = ("--small", "--length", 20, "--temperature", 1)
    texts = [line(program(*given, "--seed", seed)[1], "tokens ") for seed in (3, 3, 4)]
    assert texts[0] == texts[1] != texts[2]


WRONG = {
    "tokens that are no numbers": (["--tokens", "1,x"], "E7001"),
    "a token outside the vocabulary": (["--tokens", "1,300"], "E6001"),
    "no prompt": (["--prompt", ""], "E7001"),
    "no length": (["--length", "0"], "E7001"),
    "more than the context": (["--length", "80"], "E7001"),
    "a negative temperature": (["--temperature", "-1"], "E7001"),
    "an endless temperature": (["--temperature", "inf"], "E7001"),
    "a negative k": (["--top-k", "-1"], "E7001"),
    "a negative seed": (["--seed", "-1"], "E7001"),
    "weights of a small model": (["--weights", "x"], "E7001"),
    "a vocabulary that is not there": (["--vocabulary", "absent.json"], "E7002"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_said_in_one_line_with_a_code(program: Any, case: str) -> None:
    given, code = WRONG[case]
    status, _, err = program("--small", *given)
    assert status == 1
    assert err.startswith(f"error[{code}]: ")
    assert err.count("\n") == 1


def test_help_names_every_option_and_teaches_by_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        generate.main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert {f"--{name.replace('_', '-')}" for name in vars(generate.arguments([]))} <= set(re.findall(r"--[a-z-]+", text))
    assert text.count("python examples/generate.py") == 5


def test_the_benchmark_writes_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)  # for what benchmarks share
    spec = importlib.util.spec_from_file_location("models_benchmark", BENCHMARKS / "models.py")
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    assert benchmark.main(["--small", "--rounds", "2", "--out", str(tmp_path)]) == 0
    table = (tmp_path / "models.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1:3] for row in table.splitlines() if row.startswith("| ")][2:]
    sides = [" PTIR, numpy target ", " NumPy by hand ", *([" PyTorch "] if benchmark.by_torch else [])]
    assert rows == [[f" {model} ", side] for model in ("gpt2", "resnet34", "mobilenet_v2") for side in sides]
    assert ("PyTorch is not installed" in table) == (benchmark.by_torch is None)
