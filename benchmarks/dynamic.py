"""
A server that meets many lengths: our dynamic program beside torch.compile(dynamic=True) and JAX with buckets; decode; guards.

Each side calls one block (RMSNorm, causal attention, SwiGLU, in f32) on sequences of random length, in a process of its own, for
some seconds. The slowest call is that of the second half; the steady time is that of the last tenth of calls. The results are
written to benchmarks/results/dynamic.md.

    python benchmarks/dynamic.py --seconds 40
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import numpy as np

WIDTH, HEADS, HIDDEN = 256, 4, 688
LONGEST = 256
SIDES = {
    "native": "PTIR, native",
    "numpy": "PTIR, general program alone",
    "exact": "PTIR, native, 16 lengths compiled before",
    "torch": "torch.compile(dynamic=True)",
    "jax": "JAX, padded to powers of two",
}
EXACT = 16
"""So many lengths, evenly apart, are compiled for before the loop begins, to compare with."""
SETTLED = 20
"""With fewer calls a side, which compiled all the time, has no steady time."""
LETTERS = {"B": 1, "T": 1, "C": 128}
"""The sizes that the guard is called with."""
Step = Callable[[np.ndarray], Any]


def config() -> Any:
    """Return the sizes of the block."""
    from models import llama

    return llama.Config(width=WIDTH, heads=HEADS, kv_heads=HEADS, hidden=HIDDEN, context=1024, theta=10000.0)


def block_module() -> Any:
    """Return the program of the block without positions in a cache: `x f32[1, T, D]` and weights to a number for each element."""
    from functools import partial

    import mind_array as ma
    from models import llama
    from models import weights as files

    sizes = config()

    def block(x: Any, weights: Any) -> Any:
        positions = ma.ptir.iota(shape=(x.shape[1],), dtype=ma.int32, axis=0)
        q, k, v = llama.projected(sizes, x, positions, weights)
        mask = llama.position_mask(positions, x.shape[1])
        return llama.fed(sizes, llama.attended(sizes, x, q, k, v, mask, weights), weights)

    x = ma.spec((1, "T", WIDTH), ma.float32, name="x")
    return ma.trace(partial(block), x, files.parameters(llama.parameters(sizes)), name="block")


def ours(target: str, limits: str) -> Step:
    """Return the block as a program of ours."""
    from models import llama
    from models.optimised import compile

    return compile(block_module(), llama.random_weights(config()), target=target, specialize=limits or None)


def by_torch() -> Step:
    """Return the block as PyTorch compiles it."""
    import torch

    from models import llama

    torch.set_num_threads(1)
    sizes = config()
    w = {name: torch.tensor(a) for name, a in llama.random_weights(sizes).items()}
    functional, half = torch.nn.functional, sizes.depth // 2

    def turned(x: Any, cos: Any, sin: Any) -> Any:
        return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin

    def block(x: Any) -> Any:
        length = x.shape[1]
        h = functional.rms_norm(x, (WIDTH,), w["attention_norm"], sizes.epsilon)
        q, k, v = ((h @ w[f"attention.w_{p}"]).view(1, length, HEADS, -1).transpose(1, 2) for p in "qkv")
        angles = torch.outer(torch.arange(length), sizes.theta ** (-torch.arange(half) / half))
        cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)
        y = functional.scaled_dot_product_attention(turned(q, cos, sin), turned(k, cos, sin), v, is_causal=True)
        x = x + y.transpose(1, 2).reshape(1, length, WIDTH) @ w["attention.w_o"]
        h = functional.rms_norm(x, (WIDTH,), w["feed_forward_norm"], sizes.epsilon)
        return x + (functional.silu(h @ w["feed_forward.w_gate"]) * (h @ w["feed_forward.w_up"])) @ w["feed_forward.w_down"]

    compiled = torch.compile(block, dynamic=True)

    def run(x: np.ndarray) -> Any:
        with torch.no_grad():
            return compiled(torch.from_numpy(x)).numpy()

    return run


def by_jax() -> Step:
    """Return the block under `jax.jit`, on sequences padded to a power of two; a causal block needs no mask for what follows."""
    import jax
    import jax.numpy as jnp

    from models import llama

    sizes = config()
    w = {name: jnp.asarray(a) for name, a in llama.random_weights(sizes).items()}
    half = sizes.depth // 2

    def norm(x: Any, gamma: Any) -> Any:
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + sizes.epsilon) * gamma

    @jax.jit
    def block(x: Any) -> Any:
        length = x.shape[1]
        h = norm(x, w["attention_norm"])
        q, k, v = ((h @ w[f"attention.w_{p}"]).reshape(1, length, HEADS, -1).transpose(0, 2, 1, 3) for p in "qkv")
        angles = jnp.outer(jnp.arange(length), sizes.theta ** (-jnp.arange(half) / half))
        cos, sin = jnp.concatenate([jnp.cos(angles)] * 2, -1), jnp.concatenate([jnp.sin(angles)] * 2, -1)
        q, k = (t * cos + jnp.concatenate([-t[..., half:], t[..., :half]], -1) * sin for t in (q, k))
        scores = jnp.where(jnp.tri(length, dtype=bool), q @ k.swapaxes(-1, -2) / np.sqrt(sizes.depth), -jnp.inf)
        y = jax.nn.softmax(scores, -1) @ v
        x = x + y.transpose(0, 2, 1, 3).reshape(1, length, WIDTH) @ w["attention.w_o"]
        h = norm(x, w["feed_forward_norm"])
        return x + (jax.nn.silu(h @ w["feed_forward.w_gate"]) * (h @ w["feed_forward.w_up"])) @ w["feed_forward.w_down"]

    def run(x: np.ndarray) -> Any:
        length = x.shape[1]
        padded = np.zeros((1, 1 << max(0, length - 1).bit_length(), WIDTH), np.float32)
        padded[:, :length] = x
        return np.asarray(block(padded))[:, :length]

    return run


def resident() -> float:
    """Return the memory of this process in MiB."""
    import psutil

    return psutil.Process().memory_info().rss / (1 << 20)


def serve(side: str, lengths: int, seconds: float) -> dict[str, Any]:
    """Run one side's server loop in this process, and return its figures."""
    makers: dict[str, Callable[[], Step]] = {
        "native": lambda: ours("native", ""),
        "numpy": lambda: ours("numpy", "max_programs=0"),
        "exact": lambda: ours("native", f"eager max_programs={lengths}"),
        "torch": by_torch,
        "jax": by_jax,
    }
    rng = np.random.default_rng(0)
    sizes = np.linspace(2, LONGEST, min(lengths, EXACT) if side == "exact" else lengths).astype(int)
    inputs = [rng.standard_normal((1, int(n), WIDTH)).astype(np.float32) for n in sizes]
    run = makers[side]()
    if side == "exact":
        for x in inputs:
            run(x)
    before, took = resident(), list[tuple[float, float]]()
    begun = time.perf_counter()
    result = run(inputs[-1])
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        x = inputs[rng.integers(len(inputs))]
        start = time.perf_counter()
        run(x)
        took.append((start - begun, time.perf_counter() - start))
    late = [t for at, t in took if at > seconds / 2]
    steady = [t for _, t in took[-max(1, len(took) // 10) :]]
    report = run.program.explain() if hasattr(run, "program") else []
    return {
        "first": first,
        "steady": median(steady),
        "worst": max(late, default=0.0),
        "calls": len(took),
        "memory": resident() - before,
        "checksum": float(np.abs(result).mean()),
        "report": [line for line in report if ": compiled for sizes" in f": {line}"],
    }


def decode(tokens: int) -> dict[str, float]:
    """Return the seconds of a token of GPT-2 by the dynamic and by a static program, both bound and native, and of a guard."""
    from mind_dialect.program import functions
    from mind_dialect.ptir.types import read_type
    from mind_runtime.shapes import Guard
    from models import gpt2
    from models.optimised import compile

    sizes = gpt2.Config(vocabulary=4096, context=256, width=256, layers=4, heads=4, kv_heads=4)
    weights, capacity = gpt2.random_weights(sizes), 128
    names = list(gpt2.caches(sizes, capacity))
    dynamic = compile(gpt2.step_program(sizes), weights, donate=names, target="native", specialize="eager")
    static = compile(gpt2.program(sizes, "decode", capacity=capacity), weights, donate=names, target="native")
    held = [np.zeros(spec.shape, np.float32) for spec in gpt2.caches(sizes, capacity).values()]
    wide = [h[None].copy() for h in held]
    figures: dict[str, list[float]] = {"dynamic": [], "static": []}
    for i in range(-5, tokens):
        place = i % capacity
        token = np.array([place], np.int32)
        start = time.perf_counter()
        a, *wide = dynamic(token[None], token, np.array([0, 0, place, 0], np.int32), *wide)
        middle = time.perf_counter()
        b, *held = static(token, token, np.array([0, place, 0], np.int32), *held)
        end = time.perf_counter()
        np.testing.assert_allclose(a[0], b, atol=1e-3 * abs(b).max())
        if i >= 0:
            figures["dynamic"].append(middle - start)
            figures["static"].append(end - middle)
    (func,) = functions(gpt2.step_program(gpt2.REAL))
    guard = Guard(func)
    specs = [read_type(type) for type in func.function_type.inputs]
    shapes = [tuple(LETTERS.get(str(d), d) for d in spec.shape) for spec in specs]
    rounds: list[float] = []
    free = [shapes[i] for i in guard.open]
    for _ in range(2000):
        start = time.perf_counter()
        guard.of_open(*free)
        rounds.append(time.perf_counter() - start)
    counts = {"arguments": float(len(shapes)), "open": float(len(free))}
    return {name: median(found) for name, found in figures.items()} | {"guard": median(rounds)} | counts


def page(served: dict[str, dict[str, Any]], decoded: dict[str, float], options: argparse.Namespace) -> str:
    """Return the page of results."""
    from machine import described

    about = described(("numpy", "llvmlite", "torch", "jax"))
    lines = [
        "# Dynamic sizes",
        "",
        f"{about}.",
        "",
        f"One block, f32, width {WIDTH}, {HEADS} heads, on random ones of {options.lengths} lengths from 2 to",
        f"{LONGEST}; one thread; {options.seconds:.0f} s a side after its first call, each in a process of its own, one after",
        "the other. Steady is the median of the last tenth of calls, the slowest call that of the second half, memory the",
        "growth of the process.",
        "",
        "| side | first call, ms | steady, ms | to exact lengths | slowest call, ms | memory, MiB | calls |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    exact = served.get("exact", {}).get("steady")
    for side, found in served.items():
        if "error" in found:
            lines.append(f"| {SIDES[side]} | {found['error']} | | | | | |")
            continue
        settled = found["calls"] >= SETTLED
        ratio = f"{found['steady'] / exact:.2f}" if settled and exact is not None else ""
        cells = [f"{found['first'] * 1e3:.1f}", f"{found['steady'] * 1e3:.2f}" if settled else "not reached", ratio]
        cells.append(f"{found['worst'] * 1e3:.1f}" if settled else "")
        lines.append(f"| {SIDES[side]} | {' | '.join(cells)} | {found['memory']:.0f} | {found['calls']:,} |")
    lines += ["", *(f"{SIDES[side]}: {line}." for side, found in served.items() for line in found.get("report", []))]
    if decoded:
        ours, static = decoded["dynamic"] * 1e3, decoded["static"] * 1e3
        lines += [
            "",
            "## Decode and guards",
            "",
            "A token of a GPT-2 of 4 layers, width 256, capacity 128, on native, one thread, weights bound:",
            f"{ours:.3f} ms by the dynamic program compiled for the sizes, {static:.3f} ms by the static one,",
            f"{static / ours:.2f} of its speed.",
            f"The guard of GPT-2 with {decoded['arguments']:.0f} arguments, {decoded['open']:.0f} of them of open sizes, takes",
            f"{decoded['guard'] * 1e6:.2f} µs, at the first call with some sizes only.",
        ]
    return "\n".join(lines) + "\n"


def main(args: list[str] | None = None) -> int:
    """Measure all sides and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of each side (%(default)s)")
    parser.add_argument("--lengths", type=int, default=200, help="how many different ones (%(default)s)")
    parser.add_argument("--tokens", type=int, default=200, help="to decode (%(default)s)")
    parser.add_argument("--sides", nargs="*", choices=SIDES, default=list(SIDES), help="which to measure")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder of the page")
    parser.add_argument("--serve", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    if options.serve is not None:
        print(json.dumps(serve(options.serve, options.lengths, options.seconds)))
        return 0
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "MIND_NUM_THREADS"), "1")
    threads["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    served: dict[str, dict[str, Any]] = {}
    for side in options.sides:
        command = [
            sys.executable,
            __file__,
            "--serve",
            side,
            "--seconds",
            str(options.seconds),
            "--lengths",
            str(options.lengths),
        ]
        with tempfile.TemporaryDirectory() as cache:  # what an earlier run compiled is not found
            environment = {**os.environ, **threads, "MIND_CACHE_DIR": cache}
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        lines = done.stdout.strip().splitlines()
        served[side] = json.loads(lines[-1]) if done.returncode == 0 and lines else {"error": "did not run here"}
        if done.returncode:
            print(done.stderr[-2000:], file=sys.stderr)
    os.environ |= threads
    decoded = decode(options.tokens) if options.tokens else {}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "dynamic.md").write_text(page(served, decoded, options), encoding="utf-8")
    print(page(served, decoded, options))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
