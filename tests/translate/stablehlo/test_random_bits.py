"""`rng_bit_generator`: published vectors of both generators, and XLA's own words for every shape and dtype, with carries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES, TensorSpec
from stablehlo_programs import EXECUTORS, program, read, run

UINTS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def generator(algorithm: str, words: int, bits: int, shape: tuple[int, ...]) -> str:
    """A program that returns the new state and the bits."""
    state, found = f"tensor<{words}xui64>", f"tensor<{''.join(f'{n}x' for n in shape)}ui{bits}>"
    body = f"%r:2 = stablehlo.rng_bit_generator %s, algorithm = {algorithm} : ({state}) -> ({state}, {found})"
    return program(f"%s: {state}", body, f"{state}, {found}")


def wide(low: int, high: int) -> int:
    return low | high << 32


ALL = 0xFFFFFFFF
THREE_FRY = [  # counter, key, words: `threefry2x32 20` of Random123's kat_vectors
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((ALL, ALL), (ALL, ALL), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]
PHILOX = [  # `philox4x32 10`
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ALL, ALL, ALL, ALL), (ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_published_vectors(executor: str) -> None:
    for counter, key, words in THREE_FRY:
        state = np.array([wide(*key), wide(*counter)], np.uint64)
        _, found = run(generator("THREE_FRY", 2, 64, ()), state, executor=executor)
        assert int(found) == wide(*words)
        _, found = run(generator("THREE_FRY", 2, 32, (2,)), state, executor=executor)
        assert found.tolist() == list(words)
    for counter, key, words in PHILOX:
        state = np.array([wide(*key), wide(*counter[:2]), wide(*counter[2:])], np.uint64)
        new, found = run(generator("PHILOX", 3, 32, (4,)), state, executor=executor)
        assert found.tolist() == list(words)
        count = (int(state[1]) | int(state[2]) << 64) + 1
        assert new.tolist() == [int(state[0]), count % (1 << 64), (count >> 64) % (1 << 64)]


SHAPES = [(), (1,), (5,), (4,), (3, 5), (3, 4), (4, 3), (3, 3), (1, 7, 5), (5, 7, 2), (2, 0, 3)]
LAST = (1 << 64) - 2
"""A state whose words overflow on the way."""


def by_xla(text: str, words: int, bits: int, shape: tuple[int, ...], states: list[np.ndarray]) -> list[Any]:
    """What XLA computes from the text itself."""
    import jax

    from mind_lowering.ptir_to_stablehlo.text import StablehloProgram
    from mind_runtime.xla.artifact import exported

    inputs = (TensorSpec(DTYPES["ui64"], (words,)),)
    made = StablehloProgram(text, inputs, (*inputs, TensorSpec(DTYPES[f"ui{bits}"], shape)), takes_seed=False, sites=None)
    with jax.enable_x64(True):
        call = jax.jit(exported(made, "main", (jax.default_backend(),)).call)
        return [[np.asarray(v) for v in call(state)] for state in states]


@pytest.mark.parametrize("bits", UINTS)
@pytest.mark.parametrize(("algorithm", "words"), [("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3), ("DEFAULT", 2)])
def test_bits_and_states_are_those_of_xla(algorithm: str, words: int, bits: int) -> None:
    jax = pytest.importorskip("jax", reason="no JAX: nothing to compare with")
    if algorithm == "DEFAULT" and jax.default_backend() not in ("cpu", "gpu"):
        pytest.skip("other devices have other defaults")
    states = [np.array(s[:words], np.uint64) for s in ([5, 3, 9], [LAST, LAST, LAST + 1])]
    for shape in SHAPES:
        text = generator(algorithm, words, bits, shape)
        for state, wanted in zip(states, by_xla(text, words, bits, shape, states), strict=True):
            for found, expected in zip(run(text, state), wanted, strict=True):
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                np.testing.assert_array_equal(found, expected, err_msg=f"{shape} {state}")


def test_keys_of_jax_that_are_states_of_a_generator() -> None:
    jax = pytest.importorskip("jax", reason="no JAX: nothing to compare with")

    def drawn(data: Any) -> Any:
        return jax.random.normal(jax.random.wrap_key_data(data, impl="rbg"), (3, 5))

    data = np.arange(7, 11, dtype=np.uint32)
    stage = jax.jit(drawn).lower(data)
    found = run(stage.as_text(), data)
    np.testing.assert_allclose(found, stage.compile()(data), rtol=1e-6)


@pytest.mark.parametrize(
    ("algorithm", "words", "result", "message"),
    [
        ("THREE_FRY", 3, "2xui32", r"a state of ui64\[3\]; THREE_FRY takes tensor<2xui64>"),
        ("PHILOX", 4, "2xui32", r"a state of ui64\[4\]; PHILOX takes tensor<2xui64> or tensor<3xui64>"),
        ("PHILOX", 2, "2xf32", "random bits as f32; generate integers of static shape, and convert them"),
        ("DEFAULT", 2, "2xi1", "random bits as i1; generate integers"),
    ],
)
def test_what_has_no_words_is_refused(algorithm: str, words: int, result: str, message: str) -> None:
    text = generator(algorithm, words, 32, (2,)).replace("2xui32", result)
    with pytest.raises(MindError, match=message) as caught:
        read(text)
    assert caught.value.code == "E8008"


def test_an_unknown_algorithm_is_wrong() -> None:
    with pytest.raises(MindError, match=r"rng_algorithm is .*, expected one of DEFAULT, THREE_FRY, PHILOX") as caught:
        read(generator("MERSENNE", 2, 32, (2,)))
    assert caught.value.code == "E8002"
