"""Programs whose kernels `gpu_report.py` describes: a function, and the numbers of the inputs that it overwrites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mind_dialect.program import functions, input_names
from mind_lowering.cupy.options import CupyOptions
from models import gpt2, resnet34
from models.optimised import optimised
from models.training import AdamW, train_step

Function = tuple[Any, list[int]]


def training(compute: str | None, small: bool, narrow: bool = False) -> Function:
    """
    Return a training step of GPT-2 small on 8 times 1,024 tokens, and the inputs that it overwrites.

    With `narrow`, weights and the residual stream are bf16, and the update keeps the f32 values of weights alongside.
    """
    sizes: Any = {"vocabulary": 64, "context": 16, "width": 24, "layers": 2, "heads": 2, "kv_heads": 2} if small else {}
    config = gpt2.Config(**sizes, gelu="tanh", compute=compute, dtype="bf16" if narrow else "f32")
    loss = gpt2.loss_program(config, batch=8, length=config.context)
    (func,) = functions(optimised(train_step(loss, AdamW(), narrow=narrow), split=False))
    return func, list(range(4, len(input_names(func))))


def inference(module: Any, donated: Callable[[str], bool] = lambda _: False) -> Function:
    """Return the function of an optimised module, and the inputs that it overwrites."""
    (func,) = functions(optimised(module, split=False))
    return func, [i for i, name in enumerate(input_names(func)) if donated(name)]


def _decode(dtype: str, small: bool) -> Function:
    config = gpt2.Config(gelu="tanh", dtype=dtype, layers=2 if small else 12)
    return inference(gpt2.program(config, "decode", capacity=config.context), lambda name: name.endswith("_cache"))


def _prefill(small: bool) -> Function:
    config = gpt2.Config(gelu="tanh", layers=2 if small else 12)
    return inference(gpt2.program(config, "full", length=1024))


def _resnet(batch: int) -> Function:
    return inference(resnet34.program(replace(resnet34.REAL, batch=batch)))


PROGRAMS: dict[str, tuple[str, Callable[[bool], Function]]] = {
    "gpt2_decode": ("a token of GPT-2 small", lambda small: _decode("f32", small)),
    "gpt2_decode_bf16": ("a token of GPT-2 small in bf16", lambda small: _decode("bf16", small)),
    "gpt2_prefill": ("GPT-2 small on 1,024 tokens", _prefill),
    "gpt2_train": ("training step of GPT-2 small, 8 times 1,024 tokens", lambda small: training(None, small)),
    "gpt2_train_bf16": ("the same with products in bf16, weights in f32", lambda small: training("bf16", small)),
    "gpt2_train_epilogues": ("the step in f32 with the option epilogues", lambda small: training(None, small)),
    "gpt2_train_bf16_epilogues": ("the step in bf16 with the option epilogues", lambda small: training("bf16", small)),
    "gpt2_train_narrow_epilogues": (
        "the same with weights and residual stream in bf16",
        lambda small: training(None, small, narrow=True),
    ),
    "gpt2_train_warp_groups": (
        "the same with the option warp-groups",
        lambda small: training(None, small, narrow=True),
    ),
    "resnet34": ("ResNet34, one image", lambda _: _resnet(1)),
    "resnet34_64": ("ResNet34, 64 images", lambda small: _resnet(2 if small else 64)),
}
OPTIONS = {name: CupyOptions(epilogues=True) for name in PROGRAMS if name.endswith("_epilogues")}
OPTIONS["gpt2_train_warp_groups"] = CupyOptions(epilogues=True, warp_groups=True)
"""The options of programs that are compiled with others than the default."""
