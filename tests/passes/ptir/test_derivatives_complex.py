"""The convention of complex derivatives, at points where everything is known; that nothing is lost on the way through them."""

from __future__ import annotations

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.functional import value_and_grad
from mind_passes.ptir.construct import mul, reduce
from mind_runtime import compile
from ptir_forms import program


def gradient(types: str, body, *arguments):
    """The gradient of a loss by its first argument."""
    made = differentiate(program(types, body), "f", GradientOptions(keep_primal=False))
    found = compile(made.module, made.function.sym_name.data)(*arguments)
    return found[0] if isinstance(found, tuple) else found


Z = np.array(3.0 + 4.0j)


def test_the_gradient_of_a_real_loss_is_that_by_x_minus_i_times_that_by_y():
    """Of `|z|^2 = x^2 + y^2` it is `2x - 2iy`."""
    np.testing.assert_allclose(gradient("cf64[]", lambda z: mul(ptir.AbsOp(z), ptir.AbsOp(z)), Z), 6 - 8j, rtol=1e-15)
    assert gradient("cf64[]", ptir.RealOp, Z) == 1
    assert gradient("cf64[]", ptir.ImagOp, Z) == -1j
    assert gradient("cf64[]", lambda z: ptir.RealOp(mul(z, z)), Z) == 6 + 8j


def test_a_step_against_the_conjugate_of_the_gradient_goes_downhill():
    loss = program("cf64[3]", lambda z: reduce("sum", mul(ptir.AbsOp(z), ptir.AbsOp(z)), (0,)))
    both = compile(value_and_grad(loss), "f_grad")
    z = np.array([1 + 2j, -3j, 0.5])
    for _ in range(60):
        value, z_adj = both(z)
        z = z - 0.1 * np.conj(z_adj)
    assert value < 1e-9


def test_the_magnitude_of_zero_has_the_gradient_zero():
    assert gradient("cf64[]", ptir.AbsOp, np.array(0j)) == 0
    assert gradient("cf32[]", ptir.AbsOp, np.array(0j, np.complex64)) == 0


def test_a_gradient_goes_through_complex_numbers_to_real_ones():
    """`|x + 2ix|^2 = 5 x^2`: nothing is cut where numbers become complex."""
    found = gradient(
        "f64[]",
        lambda x: mul(ptir.AbsOp(ptir.ComplexOp(x, ptir.AddOp(x, x))), ptir.AbsOp(ptir.ComplexOp(x, ptir.AddOp(x, x)))),
        np.array(3.0),
    )
    np.testing.assert_allclose(found, 30, rtol=1e-15)
    assert gradient("f64[]", lambda x: ptir.RealOp(ptir.CastOp(mul(x, x), dtype="cf64")), np.array(3.0)) == 6
    assert gradient("f64[]", lambda x: ptir.ImagOp(ptir.CastOp(mul(x, x), dtype="cf64")), np.array(3.0)) == 0


@pytest.mark.parametrize("seed", [None, "one", "ones"])
def test_a_complex_loss_is_refused(seed: str | None):
    with pytest.raises(MindError, match="a loss of type tensor<complex<f64>> has no gradient, expected real numbers") as caught:
        differentiate(program("cf64[]", lambda z: mul(z, z)), "f", GradientOptions(seed=seed))
    assert caught.value.code == "E5005"


def test_a_complex_loss_takes_a_cotangent():
    made = differentiate(program("cf64[]", lambda z: mul(z, z)), "f", GradientOptions(seed="cotangent", keep_primal=False))
    found = compile(made.module, made.function.sym_name.data)(Z, np.array(2j))
    assert found == 2j * 2 * Z
