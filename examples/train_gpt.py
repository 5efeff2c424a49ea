"""
Train a small GPT on a text: each step is one PTIR program, whose gradient the autodiff pass made.

The model reads windows of a text, byte by byte, and learns to say which byte comes next. Loss, gradient and the AdamW update are
one function; it overwrites weights and moments in place. The loss is the mean surprise in nats: ln 256 = 5.55 for a model that
knows nothing, about 3.3 for one that knows how frequent each byte is; what is below was learnt from context. Without --text, the
text is what Python says of itself: the topics of its `help`. On a busy machine, set OPENBLAS_NUM_THREADS=1.

    python examples/train_gpt.py
    python examples/train_gpt.py --target native
    python examples/train_gpt.py --steps 2000 --width 128 --layers 4 --plot loss.png
    python examples/train_gpt.py --text novel.txt --save novel.safetensors
    python examples/generate.py --weights novel.safetensors --heads 4 --prompt "Once" --length 40 --temperature 0.8
    python examples/train_gpt.py --show | less
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
from rich.console import Console

from generate import Names, choose, tokens_of
from mind_dialect.errors import MindError, brief, error
from models import gpt2
from models.optimised import compile
from models.session import EAGER, Session
from models.training import AdamW, Trainer, schedule, train_step
from models.watching import plot, train
from models.weights import Weights, save_safetensors

BYTES = 256
LARGEST_TEXT = 1 << 27
"""Bytes of a text that is read at all."""
HELD_OUT = 0.1
"""The share of the text, at its end, that nothing is learnt from."""
TRIALS = 8
"""Batches of it that the loss is measured on."""


def text_of(path: Path | None) -> np.ndarray:
    """A text as tokens si32; E7002 for a file that cannot be read, E7001 for one without text."""
    if path is None:
        text = re.sub(" +", " ", "\n".join(topics.values()))
    else:
        try:
            if path.stat().st_size > LARGEST_TEXT:
                raise ValueError(f"it has more than {LARGEST_TEXT} bytes")
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
        except (OSError, ValueError) as e:
            raise error("E7002", f"text {brief(path)}: {brief(e)}", path=str(path)) from None
    return np.array(tokens_of(text), np.int32)


def initial_weights(config: gpt2.Config, seed: int) -> Weights:
    """
    Weights to start from: no biases, nothing scaled, and logits near 0.

    What the layers add to what they read starts smaller the more of them there are, so that their sum does not grow.
    """
    weights = gpt2.random_weights(config, seed)
    for name, values in weights.items():
        if values.ndim == 1:
            values[:] = name.endswith("gamma")
        elif name.endswith("w_out"):
            values /= math.sqrt(2 * config.layers)
        elif name == "lm_head":
            values *= 0.1
    return weights


def batches(tokens: np.ndarray, batch: int, length: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Windows of the text from random places, without end: `[batch, length]` tokens, and those that follow each of them."""
    rng = np.random.default_rng(seed)
    while True:
        starts = rng.integers(0, len(tokens) - length, (batch, 1))
        windows = tokens[starts + np.arange(length + 1)]
        yield np.ascontiguousarray(windows[:, :-1]), np.ascontiguousarray(windows[:, 1:])


def loss_on(tokens: np.ndarray, config: gpt2.Config, weights: Weights, batch: int, target: str = "numpy") -> float:
    """The mean loss on random windows of a text."""
    loss = compile(gpt2.loss_program(config), weights, target=target, specialize=EAGER)
    trials = zip(range(TRIALS), batches(tokens, batch, config.context, seed=0), strict=False)
    return float(np.mean([loss(*windows) for _, windows in trials]))


def sample(config: gpt2.Config, weights: Weights, options: argparse.Namespace) -> str:
    """What the model makes of the prompt. When its context is full it reads the later half again and goes on from there."""
    session, rng = (
        Session(config, weights, partial(compile, target=options.target, specialize=EAGER)),
        np.random.default_rng(options.seed),
    )
    text = tokens_of(options.prompt)
    made: list[int] = []
    while len(made) < options.length:
        if session.length in (0, config.context):
            session.reset()
            logits = session.read((text + made)[-max(1, config.context // 2) :])
        else:
            logits = session.append(made[-1])
        made.append(choose(logits, rng, options.temperature, 0))
    return Names(None).text(text + made)


def arguments(args: list[str] | None) -> argparse.Namespace:
    """The command line; E7001 for numbers out of range."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form, allow_abbrev=False)
    add = parser.add_argument_group("the model: more of anything here learns more, and takes longer").add_argument
    add("--layers", type=int, default=2, metavar="N", help="attention and feed-forward, one after the other (%(default)s)")
    add("--width", type=int, default=64, metavar="N", help="numbers that stand for a place in the text (%(default)s)")
    add("--heads", type=int, default=4, metavar="N", help="things to attend to at once; must divide the width (%(default)s)")
    add("--context", type=int, default=64, metavar="N", help="bytes that it sees at once (%(default)s)")
    add = parser.add_argument_group("training").add_argument
    add("--text", type=Path, metavar="FILE", help="what to learn from (Python's help)")
    add("--steps", type=int, default=1000, metavar="N", help="updates of the weights (%(default)s)")
    add("--batch", type=int, default=16, metavar="N", help="windows of text a step: a steadier gradient (%(default)s)")
    add("--rate", type=float, default=3e-3, metavar="X", help="peak of the learning rate: too great diverges (%(default)s)")
    add("--decay", type=float, default=0.1, metavar="X", help="pull of weights toward 0, times the rate (%(default)s)")
    add("--target", choices=("numpy", "native"), default="numpy", help="what runs it (%(default)s)")
    add("--seed", type=int, default=0, metavar="S", help="of first weights, windows and sample (%(default)s)")
    add = parser.add_argument_group("what comes out").add_argument
    add("--prompt", default="The ", metavar="TEXT", help="how the sample of text begins (%(default)r)")
    add("--length", type=int, default=200, metavar="N", help="bytes of the sample; 0 for none (%(default)s)")
    add("--temperature", type=float, default=0.7, metavar="T", help="0: the most likely byte, 1: as learnt (%(default)s)")
    add("--plot", type=Path, metavar="FILE", help="save the loss curve, as a PNG")
    add("--save", type=Path, metavar="FILE", help="save the weights, as safetensors that generate.py reads")
    add("--show", action="store_true", help="print the program of a step and do nothing else")
    options = parser.parse_args(args)
    least = {"layers": 1, "width": 1, "heads": 1, "context": 2, "steps": 1, "batch": 1, "seed": 0, "length": 0}
    least |= {"rate": 0, "decay": 0, "temperature": 0}
    for name, n in least.items():
        given = getattr(options, name)
        if not n <= given < math.inf:
            raise error("E7001", f"--{name} {given} is out of range, expected at least {n}; see --help", option=name)
    if options.length and not options.prompt:
        raise error("E7001", "--prompt is empty, expected something to go on from; or give --length 0", option="prompt")
    return options


def run(options: argparse.Namespace, console: Console) -> None:
    """Train, and say what came of it."""
    start = time.perf_counter()
    context, heads = options.context, options.heads
    config = gpt2.Config(BYTES, context, options.width, options.layers, heads, heads)
    loss, optimiser = gpt2.loss_program(config), AdamW(decay=options.decay)
    if options.show:
        print(train_step(loss, optimiser))
        return
    tokens = text_of(options.text)
    cut = len(tokens) - int(HELD_OUT * len(tokens))
    if len(tokens) - cut <= context:
        message = f"a text of {len(tokens)} bytes, expected more than {round(context / HELD_OUT)} for a context of {context}"
        raise error("E7001", message, option="text")
    weights = initial_weights(config, options.seed)
    count = sum(a.size for a in weights.values())
    console.print(f"{count:,} weights in {config.layers} layers, {len(tokens):,} bytes of text", highlight=False)
    trainer = Trainer(loss, weights, optimiser, options.target, EAGER)
    rates = [schedule(i, options.steps, options.rate, options.steps // 10) for i in range(1, options.steps + 1)]
    losses = train(trainer, batches(tokens[:cut], options.batch, context, options.seed), rates, console, "tokens")
    held_out = loss_on(tokens[cut:], config, trainer.weights, options.batch, options.target)
    console.print(f"loss {held_out:.3f} on text never seen; {time.perf_counter() - start:.1f} s in all", highlight=False)
    if options.length:
        console.print(f"text {sample(config, trainer.weights, options)!r}", markup=False, highlight=False, soft_wrap=True)
    if options.plot:
        plot(losses, options.plot, f"a GPT of {count:,} weights")
    if options.save:
        save_safetensors(options.save, trainer.weights)


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
