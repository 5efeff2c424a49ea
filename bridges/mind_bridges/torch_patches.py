"""
Changes of torch's modules while it exports, where they read data that no program has yet.

Distributions check their arguments. Transformers compare masks with a causal one, which tells them only how to compute the same.
`AdaptiveLogSoftmaxWithLoss` selects the rows of each cluster. Two features that torch cannot export are refused by their names:
packed sequences, and derivatives by `torch.func`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any

from .torch_ctc import ctc_loss
from .torch_replaced import replacing


def _adaptive_loss(torch: Any) -> Callable[..., Any]:
    adaptive = torch.nn.modules.adaptive

    def forward(self: Any, x: Any, target: Any) -> Any:
        """Return the log-probabilities of targets, of those of all classes, and the negative of their mean."""
        if x.ndim != target.ndim + 1 or target.ndim > 1 or x.shape[:-1] != target.shape:
            raise RuntimeError(f"AdaptiveLogSoftmaxWithLoss of shapes {list(x.shape)} and {list(target.shape)}")
        found = self.log_prob(x.reshape(-1, x.shape[-1])).gather(1, target.reshape(-1, 1)).reshape(target.shape)
        return adaptive._ASMoutput(found, -found.mean())

    return forward


def _predicted(self: Any, x: Any) -> Any:
    """Return the most probable class of each row."""
    return self.log_prob(x).argmax(1)


def _causal_hint(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Return what the caller says of a mask: not known to be causal, it is used as it is."""
    return is_causal is True


def _refusing(message: str) -> Callable[..., Any]:
    def refused(*_args: Any, **_kwargs: Any) -> Any:
        raise ValueError(message)

    return refused


_PACKED = "packed sequences, whose sizes depend on data: run the padded sequence, and mask what is behind its end"
_DERIVATIVE = "derivatives by torch.func (grad, vjp, jacrev, hessian) inside of a model: differentiate its module instead (vjp)"


@contextmanager
def exportable(torch: Any) -> Generator[None]:
    """A context in which torch exports what it otherwise cannot, by the same values."""
    adaptive = torch.nn.AdaptiveLogSoftmaxWithLoss
    changes: list[tuple[Any, str, Any]] = [
        (torch.distributions.Distribution, "_validate_args", False),
        (torch.nn.modules.transformer, "_detect_is_causal_mask", _causal_hint),
        (adaptive, "forward", _adaptive_loss(torch)),
        (adaptive, "predict", _predicted),
        (torch._VF, "_pack_padded_sequence", _refusing(_PACKED)),
        (torch._functorch.eager_transforms, "grad_increment_nesting", _refusing(_DERIVATIVE)),
    ]
    with ExitStack() as stack:
        for owner, name, value in changes:
            if hasattr(owner, name):
                stack.enter_context(_changed(owner, name, value))
        stack.enter_context(replacing(torch, {torch.nn.functional.ctc_loss: ctc_loss}))
        yield


@contextmanager
def _changed(owner: Any, name: str, value: Any) -> Generator[None]:
    """A context in which an attribute has another value."""
    before = owner.__dict__.get(name, getattr(owner, name))
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
