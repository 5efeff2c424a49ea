"""Architectures of `transformers`, small and with random weights: outputs and gradients of all weights are PyTorch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mind_dialect.program import input_names
from mind_passes.functional import vjp
from mind_runtime import compile
from mind_runtime.compilation import find_function

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from mind_bridges.torch_export import as_array  # noqa: E402, after the skip

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


class First(torch.nn.Module):
    """The first result of a model of transformers, without caches."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, x: Any) -> Any:
        """The hidden state."""
        return self.model(x, return_dict=False)[0]


def tokens() -> Any:
    return torch.randint(0, 50, (2, 7))


def pixels(size: int) -> Any:
    return torch.randn(1, 3, size, size)


def gpt2() -> Any:
    config = transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=50, n_positions=16, use_cache=False)
    return transformers.GPT2Model(config)


def llama() -> Any:
    return transformers.LlamaModel(transformers.LlamaConfig(**SMALL, num_key_value_heads=1, vocab_size=50, use_cache=False))


def mixtral() -> Any:
    config = transformers.MixtralConfig(**SMALL, num_key_value_heads=1, num_local_experts=3, vocab_size=50, use_cache=False)
    return transformers.MixtralModel(config)


def t5() -> Any:
    """Its embedding is tied to the one of the encoder."""
    config = transformers.T5Config(d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, vocab_size=50)
    return transformers.T5EncoderModel(config)


def xlnet() -> Any:
    return transformers.XLNetModel(transformers.XLNetConfig(d_model=16, n_layer=2, n_head=2, d_inner=32, vocab_size=50))


def bert() -> Any:
    return transformers.BertModel(
        transformers.BertConfig(**SMALL, vocab_size=50, max_position_embeddings=16), add_pooling_layer=False
    )


def vit() -> Any:
    return transformers.ViTModel(transformers.ViTConfig(**SMALL, image_size=16, patch_size=8), add_pooling_layer=False)


def whisper() -> Any:
    config = transformers.WhisperConfig(
        d_model=16, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=32, num_mel_bins=8, max_source_positions=10
    )
    return transformers.models.whisper.modeling_whisper.WhisperEncoder(config)


def resnet() -> Any:
    return transformers.ResNetModel(transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]))


MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "gpt2": (gpt2, tokens),
    "llama": (llama, tokens),
    "mixtral": (mixtral, tokens),
    "t5": (t5, tokens),
    "xlnet": (xlnet, tokens),
    "bert": (bert, tokens),
    "vit": (vit, lambda: pixels(16)),
    "whisper": (whisper, lambda: torch.randn(1, 8, 20)),
    "resnet": (resnet, lambda: pixels(32)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MODELS)
def test_outputs_and_gradients(name: str) -> None:
    torch.manual_seed(0)
    made, argument = MODELS[name]
    model, x = First(made().eval()), argument()
    y = model(x)
    cotangent = torch.randn_like(y)
    y.backward(cotangent)
    module, weights = from_torch(model, x)
    wanted = {n: p.grad for n, p in model.named_parameters() if p.grad is not None and n in weights}
    gradient = vjp(module, wrt=list(wanted), output=0)
    order = [n for n in input_names(find_function(module, None)) if n in wanted]
    assert len(order) > 10
    for target in ("numpy", "native"):
        found = compile(gradient, "main_grad", target)(*weights.values(), as_array(x), as_array(cotangent))
        np.testing.assert_allclose(found[0], as_array(y), 0, 1e-5 * max(1.0, float(y.detach().abs().max())))
        for n, adjoint in zip(order, found[len(found) - len(order) :], strict=True):
            expected = as_array(wanted[n])
            scale = max(1e-2, float(np.abs(expected).max()))
            np.testing.assert_allclose(adjoint, expected, 0, 1e-4 * scale, err_msg=n)
