"""The binding of cuBLASLt: with a library that is none, and the descriptions that the real one takes."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from fake_cublaslt import SIZES, FakeCublasLt, gelu, gelu_slope
from mind_dialect.errors import MindError
from mind_lowering.cupy.products import cublaslt
from mind_lowering.cupy.products.cublaslt import EPILOGUES, CublasLt, Heuristic
from mind_lowering.kernels import Kernels
from mind_passes.ptir.patterns.product_epilogue import FORMS

M, K, N = 6, 16, 8


class Room:
    ptr, size = 4096, 1 << 20


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def inputs(form: str, dtype: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Operands of a form, and rubbish in the place of its results."""
    a, b = numbers(M, K, dtype=dtype), numbers(K, N, dtype=dtype, seed=1)
    extra = [] if form == "bgrad" else [numbers(*((M, N) if form.startswith("dgelu") else (N,)), dtype=dtype, seed=2)]
    shapes = [(M, N), *({"gelu_aux_bias": [(M, N)], "dgelu_bgrad": [(N,)], "bgrad": [(N,)]}.get(form, []))]
    return [a, b, *extra], [np.full(shape, 7, dtype) for shape in shapes]


def expected(form: str, operands: list[np.ndarray]) -> list[np.ndarray]:
    """The documented formulas, in f64."""
    a, b, *extra = (x.astype(np.float64) for x in operands)
    p = a @ b
    if form == "bgrad":
        return [p, b.sum(0)]
    if form.startswith("dgelu"):
        dx = p * gelu_slope(extra[0])
        return [dx, dx.sum(0)] if form == "dgelu_bgrad" else [dx]
    x = p + extra[0]
    return {"bias": [x], "gelu_bias": [gelu(x)], "gelu_aux_bias": [gelu(x), x]}[form]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_by_the_library_and_by_the_fallback(form: str, dtype: Any) -> None:
    operands, results = inputs(form, dtype)
    library = FakeCublasLt()
    lt = CublasLt(library)
    assert lt.multiply(form, operands, results, Room, 0)
    assert library.objects == {}, "descriptions are destroyed"
    assert library.epilogues == [EPILOGUES[form]]
    plain = Kernels(np).product_epilogue(*operands, form=form, contract_lhs=(1,), contract_rhs=(0,))
    tolerance = 2e-2 if dtype is np.float16 else 3e-5
    for x, y, wanted in zip(results, plain if isinstance(plain, tuple) else (plain,), expected(form, operands), strict=True):
        assert x.dtype == y.dtype == dtype
        np.testing.assert_allclose(x.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(y.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)
    assert lt.multiply(form, operands, results, Room, 0)
    assert library.searches == 1, "an algorithm is looked for once"


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_operands_lie_as_they_lie(form: str, left: bool, right: bool) -> None:
    operands, results = inputs(form, np.float32)
    moved = list(operands)
    if left:
        moved[0] = np.ascontiguousarray(operands[0].T).T
    if right:
        moved[1] = np.ascontiguousarray(operands[1].T).T
    assert CublasLt(FakeCublasLt()).multiply(form, moved, results, Room, 0)
    for x, wanted in zip(results, expected(form, operands), strict=True):
        np.testing.assert_allclose(x, wanted, rtol=3e-5, atol=3e-5)


def test_what_the_library_has_no_algorithm_for_is_left_to_others() -> None:
    operands, results = inputs("bgrad", np.float32)
    lt = CublasLt(FakeCublasLt(refuses=(256,)))
    assert not lt.multiply("bgrad", operands, results, Room, 0)
    assert (results[0] == 7).all()
    assert not lt.multiply("bias", [x.astype(np.float64) for x in inputs("bias", np.float32)[0]], results[:1], Room, 0)
    assert lt.library.objects == {}


def test_tf32_only_of_f32_and_failures_are_coded(monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeCublasLt()
    for dtype in (np.float32, np.float16):
        operands, results = inputs("bias", dtype)
        CublasLt(library).multiply("bias", operands, results, Room, 0, tf32=True)
    assert library.computes == [77, 68]
    monkeypatch.setattr(FakeCublasLt, "cublasLtCreate", lambda *_: 1)
    with pytest.raises(MindError, match="cublasLtCreate of cuBLASLt ended with status 1") as e:
        CublasLt(library)
    assert e.value.code == "E6008"


def test_without_the_library_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    cublaslt.find_library.cache_clear()
    monkeypatch.setattr(cublaslt, "SONAMES", ("libmissing.so.1",))
    with pytest.raises(MindError, match="the option epilogues of cupy needs cuBLASLt") as e:
        cublaslt.find_library()
    assert e.value.code == "E6002"


def real_library() -> Any:
    import glob
    import importlib.util

    spec = importlib.util.find_spec("nvidia")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [f for place in places for name in cublaslt.SONAMES for f in glob.glob(f"{place}/*/lib/{name}")]
    for name in (*found, *cublaslt.SONAMES):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    pytest.skip("no cuBLASLt here")


def test_the_library_takes_every_description_without_a_gpu() -> None:
    """Descriptions are made on the host: attributes have the sizes that the library expects."""
    library = real_library()
    lt = CublasLt.__new__(CublasLt)
    lt.library, lt.found = library, {}
    assert ctypes.sizeof(Heuristic) == 96
    for form in FORMS:
        operands, results = inputs(form, np.float32)
        vector, matrix = cublaslt._extras(form, operands[2:], results[1:])
        left, right, to = (cublaslt.layout(x.shape, x.strides, 4) for x in (*operands[:2], results[0]))
        assert left is not None
        assert right is not None
        assert to is not None
        with (
            lt._descriptor(form, left, right, 0, vector, matrix, N, tf32=False) as desc,
            lt._layouts(0, (M, K, N), left, right, to),
        ):
            value, written = ctypes.c_uint32(), ctypes.c_size_t()
            status = library.cublasLtMatmulDescGetAttribute(
                desc, 7, ctypes.byref(value), ctypes.c_size_t(4), ctypes.byref(written)
            )
            assert (status, value.value, written.value) == (0, EPILOGUES[form], 4)
            for attribute, size in SIZES.items():
                status = library.cublasLtMatmulDescGetAttribute(desc, attribute, None, ctypes.c_size_t(0), ctypes.byref(written))
                assert (status, written.value) == (0, size)


def test_forms_are_those_of_a_layer_of_pytorch() -> None:
    """A linear layer under GELU, and its derivatives, by PyTorch's own autograd."""
    torch = pytest.importorskip("torch", reason="no PyTorch to compare with")
    (x, w, b), (g, v) = inputs("gelu_aux_bias", np.float32)[0], (numbers(M, K, seed=5), numbers(K, N, seed=6))
    pre = (torch.from_numpy(x) @ torch.from_numpy(w)).requires_grad_()
    bias = torch.from_numpy(b).requires_grad_()
    y = torch.nn.functional.gelu(pre + bias, approximate="tanh")
    y.backward(torch.from_numpy(g @ v))
    kernels, axes = Kernels(np), {"contract_lhs": (1,), "contract_rhs": (0,)}
    found, aux = kernels.product_epilogue(x, w, b, form="gelu_aux_bias", **axes)
    np.testing.assert_allclose(found, y.detach().numpy(), rtol=1e-5, atol=1e-5)
    dx, db = kernels.product_epilogue(g, v, aux, form="dgelu_bgrad", **axes)
    np.testing.assert_allclose(dx, pre.grad.numpy(), rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(db, bias.grad.numpy(), rtol=2e-5, atol=2e-5)
