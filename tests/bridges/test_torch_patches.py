"""Modules that torch cannot export as they are: values and derivatives are torch's all the same, or the error names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402, after the skip
from torch.nn import functional as F  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, Row, checks_of, normal, run  # noqa: E402, after the skip

D = torch.distributions
TARGETS = torch.tensor([[1, 2, 0], [3, 3, 1], [1, 1, 1]])


def ctc(times: Any, sizes: Any, **options: Any) -> Callable[..., Any]:
    return lambda x, t: F.ctc_loss(x.log_softmax(2), t, times, sizes, **options)


def ctc_of_tensors(x: Any, targets: Any, times: Any, sizes: Any) -> Any:
    return nn.CTCLoss(blank=4, reduction="none")(x.log_softmax(2), targets, times, sizes)


def log_prob(made: Callable[..., Any]) -> Callable[..., Any]:
    return lambda v, *p: made(*p).log_prob(v)


def masked(x: Any) -> Any:
    x = x.clone()
    x[[True, False, True, False]] = 2.0
    x[:, np.arange(5) > 2] *= 3
    return x, x[[False, True, True, False]], x[:, np.array([True, False, True, False, True])], x[np.eye(4, 5) > 0], x[[0, 2]]


def adaptive() -> Any:
    torch.manual_seed(0)
    return nn.AdaptiveLogSoftmaxWithLoss(6, 10, [3, 6], div_value=2.0, head_bias=True)


ENCODER = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2)
ADAPTIVE = adaptive()
ROWS: dict[str, Row] = {
    **{
        f"sums over alignments, {reduction}": (ctc((6, 5, 4), (2, 3, 1), reduction=reduction), lambda: (normal(6, 3, 5), TARGETS))
        for reduction in ("none", "mean", "sum")
    },
    "alignments by lengths that are tensors": (
        ctc_of_tensors,
        lambda: (normal(6, 3, 5), TARGETS, torch.tensor([6, 5, 4]), torch.tensor([2, 3, 0])),
    ),
    "alignments of concatenated targets": (
        ctc((6, 5, 4), (2, 3, 1)),
        lambda: (normal(6, 3, 5), torch.tensor([1, 2, 3, 3, 1, 2])),
    ),
    "alignments that do not exist": (
        ctc((6, 2, 4), (2, 3, 1), zero_infinity=True, reduction="none"),
        lambda: (normal(6, 3, 5), TARGETS),
    ),
    "infinite losses": (
        lambda x, t: ctc((6, 2, 4), (2, 3, 1), reduction="none")(x, t).detach(),
        lambda: (normal(6, 3, 5), TARGETS),
    ),
    "alignments of one time": (ctc((1, 1, 1), (1, 1, 0), reduction="none"), lambda: (normal(1, 3, 5), TARGETS)),
    "a normal distribution": (log_prob(D.Normal), lambda: (normal(5), normal(5), 0.1 + torch.rand(5))),
    "Student's distribution": (log_prob(D.StudentT), lambda: (normal(5), 2 + torch.rand(5), normal(5), 0.1 + torch.rand(5))),
    "a categorical distribution": (
        log_prob(lambda p: D.Categorical(logits=p)),
        lambda: (torch.tensor([0, 3]), normal(5)),
    ),
    "a multinomial distribution": (
        log_prob(lambda p: D.Multinomial(14, p)),
        lambda: (torch.tensor([0.0, 3, 2, 7, 2]), 0.1 + torch.rand(5)),
    ),
    "divergences": (
        lambda p, q: D.kl_divergence(D.Gamma(p, q), D.Gamma(q, p)),
        lambda: (0.5 + torch.rand(5), 0.5 + torch.rand(5)),
    ),
    "a mask of a transformer": (
        lambda x: ENCODER(x, mask=nn.Transformer.generate_square_subsequent_mask(5)),
        lambda: (normal(3, 5, 8),),
    ),
    "adaptive softmax": (lambda x, t: tuple(ADAPTIVE(x, t)), lambda: (normal(5, 6), torch.tensor([0, 3, 9, 5, 2]))),
    "adaptive softmax of one": (lambda x, t: tuple(ADAPTIVE(x, t)), lambda: (normal(6), torch.tensor(4))),
    "adaptive softmax predicts": (lambda x: ADAPTIVE.predict(x), lambda: (normal(5, 6),)),
    "masks that are lists and arrays": (masked, lambda: (normal(4, 5),)),
    "combinations": (
        lambda x: (torch.combinations(x), torch.combinations(x, 3, True), torch.combinations(x, 5)),
        lambda: (normal(4),),
    ),
    "a function of places by vmap": (
        lambda x, i: torch.vmap(lambda a, b: a[b])(x, i),
        lambda: (normal(3, 4), torch.tensor([0, 2, 1])),
    ),
    "integers that are padded": (lambda x: F.pad(x, (1, 2), value=3), lambda: (torch.arange(4),)),
}
for model in (ENCODER, ADAPTIVE):
    model.eval().requires_grad_(False)
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 15)


def reason(function: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(MindError) as caught:
        from_torch(Function(function), *arguments)
    assert caught.value.code == "E7001"
    return caught.value.message


def test_what_torch_cannot_export_is_named() -> None:
    x = torch.ones(3, 4)
    assert "state num_classes=" in reason(lambda i: F.one_hot(i), torch.tensor([0, 2]))
    assert "torch.func (grad, vjp, jacrev, hessian)" in reason(lambda v: torch.func.grad(lambda w: w.sin().sum())(v), x)
    assert "in_dims=None" in reason(lambda v, w: torch.vmap(lambda r: w @ r)(v), x, torch.ones(2, 4))
    assert "use .detach() for .data" in reason(lambda v: v.data * v, x)
    assert "packed sequences" in reason(
        lambda v: nn.utils.rnn.pack_padded_sequence(v, [3, 2], batch_first=True).data, torch.ones(2, 3, 4)
    )
    lengths = (torch.tensor([1, 2]),) * 2
    assert "pad them to the shape (N, S)" in reason(
        lambda v, t, n, m: F.ctc_loss(v, t, n, m), torch.ones(3, 2, 4), torch.tensor([1, 2, 3]), *lengths
    )


def test_torch_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(D.Distribution, "_validate_args", True)  # torch.compile sets it to False for the whole process
    forward = nn.AdaptiveLogSoftmaxWithLoss.forward
    run(log_prob(D.Normal), (torch.zeros(2), torch.zeros(2), torch.ones(2)), "numpy")
    assert nn.AdaptiveLogSoftmaxWithLoss.forward is forward
    assert D.Distribution._validate_args is True
    with pytest.raises(ValueError, match="Expected parameter scale"):
        D.Normal(torch.zeros(2), -torch.ones(2))
