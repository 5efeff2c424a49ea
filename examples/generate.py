"""
Generate text with GPT-2: one PTIR program, whose sizes are open, reads the prompt and then each token.

Without --weights the weights are random and so is the text, but not the work: the sizes are those of GPT-2 small, 124M
parameters. With a published checkpoint (model.safetensors, vocab.json) the text is GPT-2's own, at the quality of a prompt read
byte by byte, as no merges of the tokeniser are applied.

    python examples/generate.py --length 20
    python examples/generate.py --length 20 --target native
    python examples/generate.py --small --prompt "Hello" --length 8
    python examples/generate.py --weights model.safetensors --vocabulary vocab.json --prompt "The capital of France is"
    python examples/generate.py --weights model.safetensors --tokens 464,3139,286,4881,318 --temperature 0.8 --top-k 40
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mind_dialect.errors import MindError, brief, error
from models import gpt2
from models.optimised import compile
from models.session import EAGER, Session
from models.weights import Weights

LARGEST_VOCABULARY = 1 << 27
"""Bytes of a file of names of tokens that is read at all."""


def byte_alphabet() -> list[str]:
    """The character that GPT-2's vocabulary writes each byte as; a byte's token is its place among them by code point."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (chr(256 + n) for n in range(256))
    return [chr(b) if b in plain else next(others) for b in range(256)]


ALPHABET = byte_alphabet()
BYTE_OF_TOKEN = sorted(range(256), key=lambda b: ord(ALPHABET[b]))
"""The first 256 tokens of GPT-2's vocabulary are single bytes, in this order."""


def tokens_of(text: str) -> list[int]:
    """The text byte by byte."""
    token_of_byte = {b: i for i, b in enumerate(BYTE_OF_TOKEN)}
    return [token_of_byte[b] for b in text.encode("utf-8", errors="surrogateescape")]


class Names:
    """What tokens stand for: bytes, all of them with a vocabulary, else the first 256."""

    def __init__(self, path: Path | None):
        self._names = {i: bytes([b]) for i, b in enumerate(BYTE_OF_TOKEN)}
        if path is not None:
            byte_of = {c: b for b, c in enumerate(ALPHABET)}
            held = {i: name for name, i in _vocabulary(path).items()}
            self._names = {i: bytes(byte_of[c] for c in name) for i, name in held.items() if all(c in byte_of for c in name)}

    def text(self, tokens: list[int]) -> str:
        """Tokens as text; one without a name as its number."""
        parts = [self._names.get(t, f"<{t}>".encode()) for t in tokens]
        return b"".join(parts).decode("utf-8", errors="replace")


def _vocabulary(path: Path) -> dict[str, int]:
    try:
        if path.stat().st_size > LARGEST_VOCABULARY:
            raise ValueError(f"it has more than {LARGEST_VOCABULARY} bytes")
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or not all(isinstance(i, int) for i in found.values()):
            raise ValueError("it is no JSON object from names to numbers")
    except (OSError, ValueError, RecursionError) as e:
        raise error("E7002", f"vocabulary {brief(path)}: {brief(e)}", path=str(path)) from None
    return found


def choose(logits: np.ndarray, rng: np.random.Generator, temperature: float, top_k: int) -> int:
    """The most likely token at temperature 0, else one drawn from the `top_k` most likely (0: from all)."""
    logits = logits.astype(np.float64)
    if not np.isfinite(logits).all():
        raise error("E6006", "the logits are not finite: no token can be chosen", operands=["logits"])
    if temperature == 0:
        return int(logits.argmax())
    if 0 < top_k < len(logits):
        logits[logits < np.partition(logits, -top_k)[-top_k]] = -math.inf
    shares = np.exp((logits - logits.max()) / temperature)
    return int(rng.choice(len(shares), p=shares / shares.sum()))


def generate(session: Session, prompt: list[int], options: argparse.Namespace, console: Console) -> tuple[list[int], list[float]]:
    """The new tokens, and the seconds that the prompt and then each token but the last took, compilation left out."""
    rng = np.random.default_rng(options.seed)
    made: list[int] = []
    seconds: list[float] = []
    rate = TextColumn("{task.fields[rate]:6.1f} tokens/s")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), rate)
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("reading", total=options.length, rate=0.0)
        while True:
            start, compiled = time.perf_counter(), session.compile_seconds
            logits = session.append(made[-1]) if made else session.read(prompt)
            seconds.append(time.perf_counter() - start - (session.compile_seconds - compiled))
            made.append(choose(logits, rng, options.temperature, options.top_k))
            rate_now = len(seconds[1:]) / sum(seconds[1:]) if seconds[1:] else 0.0
            progress.update(bar, advance=1, description="generating", rate=rate_now)
            if len(made) == options.length:
                return made, seconds


def arguments(args: list[str] | None) -> argparse.Namespace:
    """The command line; E7001 for numbers out of range."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form, allow_abbrev=False)
    model = parser.add_argument_group("the model")
    model.add_argument("--weights", type=Path, metavar="FILE", help="a safetensors file: a published GPT-2, or our names")
    model.add_argument("--heads", type=int, help="attention heads of the file's model (one per 64 of its width)")
    model.add_argument("--small", action="store_true", help="random weights of a tiny model whose tokens are bytes")
    prompt = parser.add_argument_group("the prompt").add_mutually_exclusive_group()
    prompt.add_argument("--prompt", default="The tensor", metavar="TEXT", help="read byte by byte (default: %(default)r)")
    prompt.add_argument("--tokens", metavar="IDS", help="token numbers instead of text, as 464,3139,286")
    text = parser.add_argument_group("the text")
    text.add_argument("--length", type=int, default=32, metavar="N", help="tokens to generate (default: %(default)s)")
    text.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0: the most likely token, 1: as trained")
    text.add_argument("--top-k", type=int, default=0, metavar="K", help="draw from the K most likely only (0: from all)")
    text.add_argument("--seed", type=int, default=0, metavar="S", help="of random weights and of drawing (default: %(default)s)")
    text.add_argument("--target", choices=("numpy", "native"), default="numpy", help="what runs it (default: %(default)s)")
    text.add_argument("--vocabulary", type=Path, metavar="FILE", help="vocab.json of the checkpoint, to write tokens as text")
    options = parser.parse_args(args)
    bounds = {"length": options.length >= 1, "temperature": 0 <= options.temperature < math.inf, "top_k": options.top_k >= 0}
    bounds |= {"seed": options.seed >= 0, "heads": options.heads is None or options.heads >= 1}
    for name, fits in bounds.items():
        if not fits:
            given = getattr(options, name)
            raise error("E7001", f"--{name.replace('_', '-')} {given} is out of range; see --help", option=name)
    if options.weights is not None and options.small:
        raise error("E7001", "--small has random weights; leave out --small or --weights", option="small")
    return options


def model_of(options: argparse.Namespace) -> tuple[gpt2.Config, Weights]:
    """The sizes and weights asked for."""
    if options.weights is not None:
        return gpt2.load_safetensors(options.weights, options.heads)
    config = gpt2.SMALL if options.small else gpt2.REAL
    return config, gpt2.random_weights(config, options.seed)


def prompt_of(options: argparse.Namespace) -> list[int]:
    """The tokens of the prompt."""
    if options.tokens is None:
        return tokens_of(options.prompt)
    try:
        return [int(part) for part in options.tokens.split(",")]
    except ValueError:
        raise error("E7001", f"--tokens {brief(options.tokens)}, expected numbers as 464,3139,286", option="tokens") from None


def run(options: argparse.Namespace, console: Console) -> None:
    """Generate, and say how fast."""
    prompt, names = prompt_of(options), Names(options.vocabulary)
    config, weights = model_of(options)
    if len(prompt) + options.length > config.context + 1:
        message = f"{len(prompt)} tokens of prompt and {options.length} more in a context of {config.context}"
        raise error("E7001", f"{message}; give a lesser --length or a shorter prompt", option="length")
    count = sum(a.size for a in weights.values())
    console.print(f"GPT-2 of {config.layers} layers, {count / 1e6:.1f}M weights, {config.dtype}", highlight=False)
    session = Session(config, weights, partial(compile, target=options.target, specialize=EAGER))
    made, seconds = generate(session, prompt, options, console)
    console.print(f"tokens {','.join(map(str, made))}", highlight=False, soft_wrap=True)
    console.print(f"text {names.text(prompt + made)!r}", markup=False, highlight=False, soft_wrap=True)
    said = [f"prompt of {len(prompt)} tokens in {seconds[0]:.3f} s"]
    if steps := seconds[1:]:
        rate = len(steps) / sum(steps)
        said.append(f"{len(steps)} steps at {rate:.1f} tokens/s, median {statistics.median(steps) * 1e3:.1f} ms")
    console.print(f"{'; '.join(said)}; compiled in {session.compile_seconds:.2f} s", highlight=False)


def main(args: list[str] | None = None) -> int:
    """Run the program; the status is 1 for an error, which is printed with its code."""
    try:
        run(arguments(args), Console())
    except MindError as e:
        print(f"error[{e.code}]: {e.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
