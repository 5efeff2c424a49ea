"""
A GPT-2 that reads on: prefill once, then one token at a time against caches that the programs update.

The caches hold a power of two of places, at most the context; when they are full, they move to twice as many and the decode
program is compiled for those. Each step gives its caches away and gets the updated ones back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mind_dialect.errors import error

from . import gpt2
from .weights import Weights, numpy_dtype

Callee = Callable[..., Any]
Compiler = Callable[..., Callee]
"""
Takes a module, its weights by name and, as `donate`, the names of inputs whose memory the program may overwrite; what it makes
takes the other inputs. `mind_runtime.bind` is one.
"""


def capacity_for(length: int, context: int) -> int:
    """The least power of two that holds `length` tokens, or the context."""
    return min(1 << max(0, length - 1).bit_length(), context)


class Session:
    """
    The logits of the token after those read so far.

    `length` tokens were read; `caches` have `capacity` places; compilation took `compile_seconds` of all the time.
    """

    def __init__(self, config: gpt2.Config, weights: Weights, compiler: Compiler):
        self.config = config
        self.compile_seconds = 0.0
        self._weights = {name: weights[name] for name in gpt2.parameters(config)}
        self._compiler = compiler
        self.reset()

    def reset(self) -> None:
        """Forget what was read."""
        self.length = self.capacity = 0
        self.caches: list[np.ndarray] = []
        self._decode: Callee | None = None

    def read(self, tokens: Sequence[int]) -> np.ndarray:
        """Read the first tokens at once; E7001 for none, too many, or a second time, E6001 for a token outside the vocabulary."""
        count = len(tokens)
        if self.length or not 1 <= count <= self.config.context:
            message = f"a prompt of {count} tokens after {self.length}, expected 1 to {self.config.context} at the start"
            raise error("E7001", message, option="prompt")
        self._check(tokens)
        self.capacity = capacity_for(count + 1, self.config.context)
        prefill = self._compiled("prefill", length=count)
        empty = [np.zeros(s.shape, numpy_dtype(s.dtype)) for s in gpt2.caches(self.config, self.capacity).values()]
        places = np.arange(count, dtype=np.int32)
        logits, *self.caches = prefill(np.array(tokens, np.int32), places, *empty)
        self.length = count
        return logits[-1]

    def append(self, token: int) -> np.ndarray:
        """Read one token more; E7001 before the first tokens and where the context ends, E6001 as for `read`."""
        if not 0 < self.length < self.config.context:
            message = f"token {self.length} of a context of {self.config.context}, expected a prompt before and room after"
            raise error("E7001", message, option="length")
        self._check([token])
        if self.length == self.capacity:
            self._grow()
        if self._decode is None:
            self._decode = self._compiled("decode")
        place = np.array([self.length], np.int32)
        start = np.array([0, self.length, 0], np.int32)
        caches, self.caches = self.caches, []
        logits, *self.caches = self._decode(np.array([token], np.int32), place, start, *caches)
        self.length += 1
        return logits[-1]

    def _check(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            if not 0 <= token < self.config.vocabulary:
                message = f"token {token}, expected 0 to {self.config.vocabulary - 1}"
                raise error("E6001", message, indices=[token], shape=[self.config.vocabulary])

    def _grow(self) -> None:
        self.capacity = capacity_for(self.length + 1, self.config.context)
        shape = self.config.cache_shape(self.capacity)
        for i, cache in enumerate(self.caches):
            self.caches[i] = np.zeros(shape, cache.dtype)
            self.caches[i][:, : self.length] = cache
        self._decode = None

    def _compiled(self, mode: str, **sizes: int) -> Callee:
        start = time.perf_counter()
        program = gpt2.program(self.config, mode, capacity=self.capacity, **sizes)
        made = self._compiler(program, self._weights, donate=list(gpt2.caches(self.config, self.capacity)))
        self.compile_seconds += time.perf_counter() - start
        return made
