"""
Models of PyTorch on the native target, beside PyTorch, `torch.compile`, ONNX Runtime and OpenVINO.

    python benchmarks/imported.py [--only GPT-2 ViT] [--batches 1,8] [--sides PyTorch] [--threads 2] [--rounds 7] [--write FILE]
    python benchmarks/imported.py --gradients [...]

With `--gradients` it is the loss and its gradients in all parameters, and the peers are PyTorch and its compiler.

Each side is a process of its own. A round asks each of them in turn, so that the load of the machine meets all alike; of each
round the ratios are taken, and their median and spread over rounds stand beside the ratio of the best calls. Results are
compared first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from machine import described

RESULTS = Path(__file__).parent / "results"
SIDES = {
    "native": "llvmlite",
    "PyTorch": "torch",
    "torch.compile": "torch",
    "torch.compile, frozen": "torch",
    "ONNX Runtime": "onnxruntime",
    "OpenVINO": "openvino",
}
"""The package that each side needs."""
PEERS = tuple(SIDES)[1:]
TRAINERS = PEERS[:2]
"""Those that have gradients."""
TRAINED = 8
"""Examples in a batch whose gradients are measured."""
SAMPLE = 0.2
"""Seconds of calls in a round, about."""
TOLERANCE = 1e-3
"""Between results, of the greatest magnitude."""
HEAD = """\
# Models of PyTorch

By `benchmarks/imported.py{option}`: {what} in f32, {threads} thread(s), random weights, {rounds} rounds, in which each side, a
process of its own, has its turn. Times are those of the best call in milliseconds. *Best peer over ours* is the ratio of the best
calls, *in rounds* the median of the ratios in the same round to the peer that is best by its median, with the least and the
most. Above 1 native code is faster. On a machine that others use, PyTorch's threads wait for each other longest: figures of
several threads are of use on a quiet machine only.

{frozen}The transformers have 4 layers of width 256, 4 heads and 128 tokens (197 for ViT, 200 for
Whisper); the first ResNet is ResNet-18 with half its channels on 112 x 112 pixels, ResNet-50 and MobileNetV2 are as in their
papers, the level of a U-Net has 128 channels of 32 x 32. *First* is the time from the model to its
first result, in a process of its own that has imported nothing and finds no compiled code, while no other side runs.

{machine}{absent}

{columns}
"""
FORWARD = "one forward pass"
GRADIENTS = "the mean square of a model's results and its gradients in all parameters, batch norms as in inference,"
FROZEN = """\
Frozen is `torch.compile` with `freezing` and `max-autotune`; ONNX Runtime and OpenVINO take the model that `torch.onnx` exports,
OpenVINO with f32 as its precision. """


# A side


def prepared(side: str, name: str, batch: int, gradients: bool) -> tuple[Callable[[], Any], Any]:
    """What runs a model once, and its first result."""
    import torch
    from imported_models import MODELS

    threads = int(os.environ["MIND_NUM_THREADS"])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    make, argument, _ = MODELS[name]
    model, x = make().eval(), argument(batch)
    if gradients:
        call = (differentiated if side == "native" else by_autograd)(model, x, threads, compiled=side == "torch.compile")
        return call, call()
    if side == "native":
        from mind_bridges.torch import from_torch
        from mind_bridges.torch_export import as_array
        from mind_runtime import bind

        module, weights = from_torch(model, x)
        run, array = bind(module, weights, target="native", threads=threads), as_array(x)
        return lambda: run(array), run(array)
    call = by_onnx_model(side, model, x, threads) if side in ("ONNX Runtime", "OpenVINO") else by_torch(side, model, x)
    return call, call()


def differentiated(model: Any, x: Any, threads: int, **_: Any) -> Callable[[], Any]:
    """Return what gives the loss and the gradients of an imported model."""
    from imported_models import MeanSquare

    from mind_bridges.torch import from_torch
    from mind_bridges.torch_export import as_array
    from mind_passes.functional import value_and_grad
    from mind_runtime import compile

    module, weights = from_torch(MeanSquare(model), x)
    names = [f"model.{name}" for name, _ in model.named_parameters()]
    program = compile(value_and_grad(module, wrt=names), "main_grad", target="native", threads=threads)
    arrays = [weights[spec.name] if spec.name in weights else as_array(x) for spec in program.inputs]
    return lambda: program(*arrays)


def by_autograd(model: Any, x: Any, threads: int, *, compiled: bool) -> Callable[[], Any]:
    """Return what gives the loss and the gradients by PyTorch."""
    import torch
    from imported_models import MeanSquare

    whole, parameters = MeanSquare(model), list(model.parameters())
    if compiled:
        whole = torch.compile(whole)

    def call() -> Any:
        loss = whole(x)
        return [found.numpy() for found in (loss.detach(), *torch.autograd.grad(loss, parameters))]

    return call


def by_torch(side: str, model: Any, x: Any) -> Callable[[], Any]:
    """Return what runs a model once, by PyTorch or one of its compilers."""
    import torch

    if side == "torch.compile, frozen":
        torch._inductor.config.freezing = True
    if side != "PyTorch":
        model = torch.compile(model, mode="max-autotune" if side == "torch.compile, frozen" else None)

    def call() -> Any:
        with torch.inference_mode():
            return model(x).numpy()

    return call


def by_onnx_model(side: str, model: Any, x: Any, threads: int) -> Callable[[], Any]:
    """Return what runs a model once, by an engine that reads ONNX."""
    import torch

    with TemporaryDirectory() as folder:
        path = f"{folder}/model.onnx"
        torch.onnx.export(model, (x,), path, dynamo=True, external_data=False, verbose=False)
        array = x.numpy()
        if side == "ONNX Runtime":
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            feed = {session.get_inputs()[0].name: array}
            return lambda: session.run(None, feed)[0]
        import openvino

        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        request = openvino.compile_model(path, "CPU", settings).create_infer_request()

    def call() -> Any:
        request.infer([array], share_inputs=True)
        return request.get_output_tensor().data

    return call


def serve(side: str) -> None:
    """Answer requests on stdin, lines of JSON, until it ends."""
    out, sys.stdout = sys.stdout, sys.stderr
    call: Callable[[], Any] = list
    for line in sys.stdin:
        request = json.loads(line)
        if "name" in request:
            start = time.perf_counter()
            call, found = prepared(side, **request)
            first, flat = time.perf_counter() - start, flattened(found)
            reply: Any = {"first": first, "some": [float(v) for v in flat[:: max(1, flat.size // 64)]]}
        else:
            reply = dict(zip(("best", "median"), sampled(call), strict=True))
        print(json.dumps(reply), file=out, flush=True)


def flattened(found: Any) -> Any:
    """Return all elements of an array, or of several one after the other."""
    import numpy as np

    return np.concatenate([x.reshape(-1) for x in found]) if isinstance(found, list | tuple) else found.reshape(-1)


def sampled(call: Callable[[], Any]) -> tuple[float, float]:
    """Return the best and the median time of the calls of a sample."""
    call()
    found: list[float] = []
    end = time.perf_counter() + SAMPLE
    while time.perf_counter() < end or len(found) < 3:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found), median(found)


# All sides


class Side:
    """The process of a side."""

    def __init__(self, name: str, threads: int):
        counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "MIND_NUM_THREADS"), str(threads))
        command = [sys.executable, __file__, "--side", name]
        pipe = subprocess.PIPE
        self.caches = TemporaryDirectory()  # else first calls of `torch.compile` would find what an earlier run compiled
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment = {**inherited, **counts, "TORCHINDUCTOR_CACHE_DIR": self.caches.name, "MIND_CACHE_DIR": ""}
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment)

    def send(self, **request: Any) -> None:
        """Ask for something."""
        assert self.process.stdin is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)

    def reply(self) -> Any:
        """The reply to a request; RuntimeError if the process has ended."""
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            raise RuntimeError(f"the process ended with {self.process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.caches.cleanup()


def row(name: str, batch: int, sides: Sequence[str], given: argparse.Namespace) -> str:
    """Return a line of the table. ArithmeticError where sides disagree."""
    processes = {side: Side(side, given.threads) for side in sides}
    try:
        replies: dict[str, Any] = {}
        for side, process in processes.items():  # one after the other, as first calls are timed
            process.send(name=name, batch=batch, gradients=given.gradients)
            replies[side] = process.reply()
        compare(name, replies)
        times: dict[str, list[Any]] = {side: [] for side in sides}
        for i in range(given.rounds):
            for k in range(len(sides)):
                side = sides[(i + k) % len(sides)]
                processes[side].send()
                times[side].append(processes[side].reply())
    finally:
        for process in processes.values():
            process.close()
    best = {side: min(t["best"] for t in times[side]) for side in sides}
    cells = [name, str(batch), *(f"{1e3 * best[side]:.2f}" for side in sides)]
    if peers := [side for side in sides if side != "native"]:
        cells.append(f"{min(best[side] for side in peers) / best['native']:.2f}")
        steadiest = min(peers, key=lambda side: median(t["median"] for t in times[side]))
        cells.append(f"{steadiest}: {ratio(times['native'], times[steadiest])}")
    cells.append(", ".join(f"{replies[side]['first']:.1f}" for side in sides))
    return line(cells)


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def ratio(ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    """The median of the ratios of rounds, the least and the most."""
    found = sorted(b["median"] / a["median"] for a, b in zip(ours, theirs, strict=True))
    return f"{median(found):.2f} ({found[0]:.2f} to {found[-1]:.2f})"


def compare(name: str, replies: dict[str, Any]) -> None:
    """Raise ArithmeticError unless all sides computed what native code did."""
    expected = replies["native"]["some"]
    scale = max(map(abs, expected))
    for side, reply in replies.items():
        worst = max(abs(a - b) for a, b in zip(reply["some"], expected, strict=True))
        if not worst <= TOLERANCE * scale:
            raise ArithmeticError(f"{name}: {side} and native code differ by {worst} of {scale}")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--gradients", action="store_true", help=f"measure gradients, of a batch of {TRAINED}")
    parser.add_argument("--only", nargs="+", metavar="MODEL", help="some models, in this order")
    parser.add_argument("--batches", help="those of each model, unless given")
    parser.add_argument("--sides", nargs="+", choices=PEERS, help="peers of native code")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", type=Path, metavar="FILE")
    given = parser.parse_args(argv)
    if given.side:
        serve(given.side)
        return 0
    from imported_models import MODELS

    able = TRAINERS if given.gradients else PEERS
    wanted = [side for side in able if side in (given.sides or able)]
    sides = ["native", *(side for side in wanted if find_spec(SIDES[side]))]
    missing = [side for side in wanted if side not in sides]
    columns = ["model", "batch", *sides, *(["best peer over ours", "in rounds"] if len(sides) > 1 else []), "first, s"]
    text = HEAD.format(
        option=" --gradients" if given.gradients else "",
        what=GRADIENTS if given.gradients else FORWARD,
        frozen="" if given.gradients else FROZEN,
        threads=given.threads,
        rounds=given.rounds,
        machine=described(["numpy", "llvmlite", "torch", *([] if given.gradients else ["onnxruntime", "openvino"])]),
        absent=f"\n\nAbsent, as their packages are: {', '.join(missing)}." if missing else "",
        columns=line(columns) + line(["---"] * len(columns)).rstrip(),
    )
    path = given.write or RESULTS / ("imported_gradients.md" if given.gradients else "imported.md")
    for name in given.only or MODELS:
        batches = (TRAINED,) if given.gradients else MODELS[name][2]
        for batch in map(int, given.batches.split(",")) if given.batches else batches:
            found = row(name, batch, sides, given)
            print(found, end="", flush=True)
            text += found
            path.write_text(text, encoding="utf-8")  # a row takes minutes: what is measured stays
    return 0


if __name__ == "__main__":
    sys.exit(main())
