"""
A GPT-2 that reads on: a prompt at once, then one token at a time, by one program whose sizes are open.

The caches hold a power of two of places, at most the context; when they are full, they move to twice as many. Each step gives its
caches away and gets the updated ones back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mind_dialect.errors import error
from mind_runtime import Program

from . import gpt2
from .weights import Weights, numpy_dtype

EAGER = "eager"
"""Compile for the sizes of each call in the first one: one prompt, and one token at each capacity."""
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
        start = time.perf_counter()
        held = {name: weights[name] for name in gpt2.parameters(config)}
        self._step = compiler(gpt2.step_program(config), held, donate=list(gpt2.caches(config, config.context)))
        self._made_in = time.perf_counter() - start
        self.reset()

    @property
    def compile_seconds(self) -> float:
        """Seconds that making the program took, and compiling it for sizes."""
        program = getattr(self._step, "program", None)
        return self._made_in + (program.by_sizes.spent if isinstance(program, Program) else 0.0)

    def reset(self) -> None:
        """Forget what was read."""
        self.length = self.capacity = 0
        self.caches: list[np.ndarray] = []

    def read(self, tokens: Sequence[int]) -> np.ndarray:
        """Read the first tokens at once; E7001 for none, too many, or a second time, E6001 for a token outside the vocabulary."""
        count = len(tokens)
        if self.length or not 1 <= count <= self.config.context:
            message = f"a prompt of {count} tokens after {self.length}, expected 1 to {self.config.context} at the start"
            raise error("E7001", message, option="prompt")
        self._check(tokens)
        self.capacity = capacity_for(count + 1, self.config.context)
        empty = gpt2.caches(self.config, self.capacity).values()
        self.caches = [np.zeros((1, *s.shape), numpy_dtype(s.dtype)) for s in empty]
        return self._read(tokens)

    def append(self, token: int) -> np.ndarray:
        """Read one token more; E7001 before the first tokens and where the context ends, E6001 as for `read`."""
        if not 0 < self.length < self.config.context:
            message = f"token {self.length} of a context of {self.config.context}, expected a prompt before and room after"
            raise error("E7001", message, option="length")
        self._check([token])
        if self.length == self.capacity:
            self._grow()
        return self._read([token])

    def _read(self, tokens: Sequence[int]) -> np.ndarray:
        """Run the program on tokens for which the caches have room."""
        places = np.arange(self.length, self.length + len(tokens), dtype=np.int32)
        start = np.array([0, 0, self.length, 0], np.int32)
        caches, self.caches = self.caches, []
        logits, *self.caches = self._step(np.array([tokens], np.int32), places, start, *caches)
        self.length += len(tokens)
        return logits[0, -1]

    def _check(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            if not 0 <= token < self.config.vocabulary:
                message = f"token {token}, expected 0 to {self.config.vocabulary - 1}"
                raise error("E6001", message, indices=[token], shape=[self.config.vocabulary])

    def _grow(self) -> None:
        self.capacity = capacity_for(self.length + 1, self.config.context)
        shape = (1, *self.config.cache_shape(self.capacity))
        for i, cache in enumerate(self.caches):
            self.caches[i] = np.zeros(shape, cache.dtype)
            self.caches[i][:, :, : self.length] = cache
