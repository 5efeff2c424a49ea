"""All rows: for each operator of ONNX a function that emits PTIR, its function body, or the reason why there is none."""

from __future__ import annotations

from ..unsupported import Refused
from .attention import ATTENTION
from .contrib import CONTRIB
from .control import CONTROL
from .converter import OnnxRow
from .einsum import EINSUM
from .elementwise import ELEMENTWISE
from .indexing import INDEXING
from .learned import LEARNED
from .nn import NN
from .products import PRODUCTS
from .recurrent import RECURRENT
from .reductions import REDUCTIONS
from .regions import REGIONS
from .resize import RESIZE
from .sampling import SAMPLING
from .sequences import SEQUENCES
from .slices import SLICES
from .spectral import SPECTRAL
from .structural import STRUCTURAL
from .trees import TREES
from .vectors import VECTORS

_WORDS = Refused("words", "PTIR has tensors of numbers only")
_RANDOM = Refused("random numbers of an unspecified algorithm", "pass them as inputs, or use ptir.rng_uniform")
_TRAINING = Refused("a training op", "differentiate the model with autodiff, and update the weights in PTIR")
_IMAGE = Refused("sampling of images at computed positions", "write it as gathers and products")

REASONS: dict[str, Refused] = {
    "Bernoulli": _RANDOM,
    "ImageDecoder": Refused("the decoding of images", "decode before the program"),
    "MaxRoiPool": _IMAGE,
    "Multinomial": _RANDOM,
    "RandomNormal": _RANDOM,
    "RandomNormalLike": _RANDOM,
    "RandomUniform": _RANDOM,
    "RandomUniformLike": _RANDOM,
    "RegexFullMatch": _WORDS,
    "StringConcat": _WORDS,
    "StringNormalizer": _WORDS,
    "StringSplit": _WORDS,
    "TfIdfVectorizer": Refused("counts of n-grams", "compute them before the program"),
    "ai.onnx.preview.training.Adagrad": _TRAINING,
    "ai.onnx.preview.training.Adam": _TRAINING,
    "ai.onnx.preview.training.Gradient": _TRAINING,
    "ai.onnx.preview.training.Momentum": _TRAINING,
}
BY_FUNCTION: frozenset[str] = frozenset(
    """
    BlackmanWindow CausalConvWithState DynamicQuantizeLinear GroupNormalization HammingWindow HannWindow
    LinearAttention MeanVarianceNormalization NegativeLogLikelihoodLoss RMSNormalization RotaryEmbedding
    SoftmaxCrossEntropyLoss SwiGLU ai.onnx.preview.FlexAttention
    """.split()
)
"""Operators whose function body, as their schema states it, is converted."""
ROWS: dict[str, OnnxRow | Refused] = {
    **ELEMENTWISE,
    **STRUCTURAL,
    **SEQUENCES,
    **SLICES,
    **REDUCTIONS,
    **INDEXING,
    **PRODUCTS,
    **EINSUM,
    **ATTENTION,
    **NN,
    **RESIZE,
    **REGIONS,
    **SAMPLING,
    **SPECTRAL,
    **RECURRENT,
    **CONTROL,
    **LEARNED,
    **TREES,
    **VECTORS,
    **CONTRIB,
    **REASONS,
}
