"""
Train a small GPT on all devices of several processes or hosts: our gradient and AdamW, run by XLA.

The program of a step is that of train_gpt.py and names no device. Only a mesh and the layouts of some inputs are added; XLA
places the collectives. Every process runs this file with the same options and its own number:

    python examples/many_hosts.py --spawn 2 --devices 4                    # here: 2 processes with 4 parts of the CPU each
    python examples/many_hosts.py --coordinator host0:1234 --processes 2 --process 0   # on host0; on the other host --process 1
    srun python examples/many_hosts.py                                     # SLURM, Kubernetes (JobSet), TPU pods: found by JAX
    python examples/many_hosts.py --spawn 2 --devices 4 --mesh data=8 --shard-weights
    python examples/many_hosts.py --spawn 2 --devices 4 --checkpoints /tmp/run --every 10

With --checkpoints a run goes on from the last one that is there. If a process ends, the others end with an error as soon as
they notice, at the latest after --timeout seconds without a step. See docs/scale.md.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mind_dialect.errors import MindError, brief, error


def arguments(args: Sequence[str] | None) -> argparse.Namespace:
    """The command line; E7001 for numbers out of range."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form, allow_abbrev=False)
    add = parser.add_argument_group("processes; without any of these JAX asks the cluster").add_argument
    add("--spawn", type=int, default=0, metavar="N", help="start N processes here, on the loopback interface")
    add("--coordinator", metavar="HOST:PORT", help="where process 0 is reached")
    add("--processes", type=int, metavar="N", help="how many there are")
    add("--process", type=int, metavar="I", help="which of them this is, from 0")
    add("--devices", type=int, default=0, metavar="N", help="parts of the CPU that count as devices, for trials (its real ones)")
    add("--timeout", type=float, default=300, metavar="S", help="seconds that a step may take (%(default)s)")
    add("--start", type=float, default=600, metavar="S", help="seconds until the first step has ended (%(default)s)")
    add = parser.add_argument_group("layout").add_argument
    add("--mesh", metavar="AXES", help="such as data=8; by default one axis, data, of all devices")
    add("--shard-weights", action="store_true", help="split weights and moments over data too, where their sizes divide")
    add = parser.add_argument_group("model and training").add_argument
    add("--layers", type=int, default=2, metavar="N", help="(%(default)s)")
    add("--width", type=int, default=32, metavar="N", help="(%(default)s)")
    add("--context", type=int, default=16, metavar="N", help="(%(default)s)")
    add("--batch", type=int, default=16, metavar="N", help="sequences a step, of all processes together (%(default)s)")
    add("--steps", type=int, default=20, metavar="N", help="(%(default)s)")
    add("--rate", type=float, default=3e-3, metavar="X", help="peak of the learning rate (%(default)s)")
    add("--checkpoints", type=Path, metavar="DIR", help="a folder that all processes reach; needs the extra checkpoints")
    add("--every", type=int, default=10, metavar="N", help="steps between checkpoints (%(default)s)")
    add("--leave-at", type=int, default=0, metavar="N", help="the last process ends before step N, to see what the others do")
    options = parser.parse_args(args)
    least = {
        "spawn": 0,
        "devices": 0,
        "timeout": 1,
        "start": 1,
        "layers": 1,
        "width": 4,
        "context": 2,
        "batch": 1,
        "steps": 1,
        "every": 1,
    }
    for name, n in least.items():
        if not n <= getattr(options, name) < 1 << 31:
            raise error("E7001", f"--{name} {getattr(options, name)} is out of range, expected at least {n}", option=name)
    return options


# Processes


def spawn(options: argparse.Namespace, args: Sequence[str]) -> int:
    """Start the processes here and wait for them; when one fails, the others have `timeout` seconds to notice."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    given = [*args, "--coordinator", f"127.0.0.1:{port}", "--processes", str(options.spawn), "--spawn", "0"]
    children = [subprocess.Popen([sys.executable, __file__, *given, "--process", str(i)]) for i in range(options.spawn)]
    try:
        while all(child.poll() in (None, 0) for child in children) and any(child.poll() is None for child in children):
            time.sleep(0.05)
        end = time.monotonic() + (options.timeout if any(child.poll() for child in children) else 0)
        while any(child.poll() is None for child in children) and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        for child in children:
            if child.poll() is None:
                child.kill()
            child.wait()
    failed = {i: child.returncode for i, child in enumerate(children) if child.returncode}
    for i, status in failed.items():
        print(f"process {i} ended with status {status}", file=sys.stderr)
    return 1 if failed else 0


def connect(options: argparse.Namespace) -> Any:
    """JAX, connected to all processes. E6002 without JAX, E7001 where it knows no cluster."""
    if options.devices:
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={options.devices}"
    from mind_runtime.xla.session import first_line, require

    jax = require()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    beyond = int(2 * max(options.start, options.timeout)) + 10  # JAX aborts then; the watch ends before, with an error
    try:
        jax.distributed.initialize(
            options.coordinator,
            options.processes,
            options.process,
            initialization_timeout=beyond,
            heartbeat_timeout_seconds=beyond,
            shutdown_timeout_seconds=beyond,
        )
    except (ValueError, TypeError, RuntimeError) as e:
        message = f"JAX cannot connect ({first_line(e)}); give --spawn, or --coordinator, --processes and --process"
        raise error("E7001", message, option="coordinator") from None
    return jax


class Watch:
    """Ends this process with an error when something takes too long: what waits for a dead peer cannot be interrupted."""

    def __init__(self) -> None:
        self._timer = threading.Timer(0, int)

    def restart(self, seconds: float, what: str) -> None:
        """Give `what` so many seconds from now."""
        self.stop()
        self._timer = threading.Timer(seconds, self._end, (seconds, what))
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Watch no more."""
        self._timer.cancel()

    def _end(self, seconds: float, what: str) -> None:
        shown(error("E6007", f"{what} did not end within {seconds} s; another process may be gone", limit=seconds))
        os._exit(1)


def shown(e: MindError) -> None:
    """Print an error with its code."""
    print(f"error[{e.code}]: {e.message}", file=sys.stderr, flush=True)


# Training


class Training:
    """The weights and moments on all devices, and the program of a step."""

    def __init__(self, jax: Any, options: argparse.Namespace):
        from mind_runtime import compile
        from models import gpt2
        from models.training import AdamW, parameter_names, state_names, train_step
        from train_gpt import BYTES, batches, initial_weights, text_of

        self.jax, self.options, self.step = jax, options, 0
        config = gpt2.Config(BYTES, options.context, options.width, options.layers, 4, 4)
        loss = gpt2.loss_program(config, batch=options.batch, length=options.context)
        first = initial_weights(config, 0)
        names = state_names(parameter_names(loss), AdamW())
        values = {
            name: first.get(name, np.zeros_like(first[name if name in first else name.rsplit(".", 1)[0]])) for name in names
        }
        mesh = options.mesh or f"data={jax.device_count()}"
        size = int(dict(part.split("=") for part in mesh.split(",") if "=" in part).get("data", "1"))
        layouts = {"tokens": "data", "targets": "data"}
        if options.shard_weights:
            layouts |= {name: "data" for name, a in values.items() if a.ndim > 1 and a.shape[0] % size == 0}
        module = train_step(loss, AdamW())
        self.program = compile(module, target="xla{checks=off}", donate=names, mesh=mesh, shardings=layouts)
        self.number = {spec.name: i for i, spec in enumerate(self.program.inputs)}
        self.held = {name: self.placed(name, a) for name, a in values.items()}
        self.batches = batches(text_of(None), options.batch, options.context, 0)

    def placed(self, name: str, value: np.ndarray) -> Any:
        """An array that every process knows whole, on the devices where its input lies."""
        sharding = self.program.sharding(self.number[name])
        return self.jax.make_array_from_callback(value.shape, sharding, lambda place: value[place])

    def run_step(self) -> float:
        """One update; the loss before it. E6008 where XLA fails, as it does when another process is gone."""
        from models.training import schedule

        self.step += 1
        options = self.options
        tokens, targets = next(self.batches)
        rate = schedule(self.step, options.steps, options.rate, max(1, options.steps // 10))
        numbers = {"tokens": tokens, "targets": targets, "rate": np.float32(rate), "step": np.float32(self.step)}
        given = {name: self.placed(name, np.asarray(value)) for name, value in numbers.items()}
        loss, *new = self.program(*given.values(), *self.held.values())
        self.held = dict(zip(self.held, new, strict=True))
        try:
            return float(np.asarray(loss))
        except Exception as e:  # XLA computes behind our back, so that a failed collective is seen here
            raise error("E6008", f"XLA failed in step {self.step}: {brief(e)}", device="xla", status=type(e).__name__) from None


class Checkpoints:
    """Weights, moments and the number of steps, written by all processes together through orbax."""

    def __init__(self, training: Training, folder: Path | None):
        self.training, self.folder = training, None if folder is None else folder.resolve()
        if folder is None:
            return
        try:
            from orbax import checkpoint
        except ImportError as e:
            message = f"checkpoints need orbax ({brief(e)}): pip install 'mind-dialect[checkpoints]'"
            raise error("E6002", message, requested="orbax", available=[]) from None
        self.manager = checkpoint.CheckpointManager(self.folder, options=checkpoint.CheckpointManagerOptions(max_to_keep=2))
        self.orbax = checkpoint

    def restore(self) -> None:
        """Go on from the last checkpoint, on whatever mesh this run has."""
        if self.folder is None or (step := self.manager.latest_step()) is None:
            return
        jax, training = self.training.jax, self.training
        like = {
            name: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=training.program.sharding(training.number[name]))
            for name, a in training.held.items()
        }
        training.held = dict(self.manager.restore(step, args=self.orbax.args.StandardRestore(like)))
        training.held = {name: training.held[name] for name in like}
        training.step = step
        for _ in range(step):
            next(training.batches)

    def save(self) -> None:
        """Write a checkpoint if one is due."""
        step = self.training.step
        if self.folder is not None and step % self.training.options.every == 0:
            self.manager.save(step, args=self.orbax.args.StandardSave(self.training.held))
            self.manager.wait_until_finished()


def train(jax: Any, options: argparse.Namespace, watch: Watch) -> None:
    """All steps; process 0 prints."""
    training = Training(jax, options)
    checkpoints = Checkpoints(training, options.checkpoints)
    checkpoints.restore()
    process, last = jax.process_index(), jax.process_count() - 1
    if process == 0:
        print(training.program.explain()[0], flush=True)
        if training.step:
            print(f"goes on after step {training.step}", flush=True)
    while training.step < options.steps:
        if training.step + 1 == options.leave_at and process == last:
            os._exit(3)
        loss = training.run_step()
        watch.restart(options.timeout, f"step {training.step + 1}")
        if process == 0:
            print(f"step {training.step} loss {loss:.6f}", flush=True)
        checkpoints.save()


def main(args: Sequence[str] | None = None) -> int:
    """Run the program; the status is 1 for an error, which is printed with its code."""
    given = list(sys.argv[1:] if args is None else args)
    try:
        options = arguments(given)
        if options.spawn:
            return spawn(options, given)
        watch = Watch()
        watch.restart(options.start, "the start")
        jax = connect(options)
    except MindError as e:
        shown(e)
        return 1
    try:
        train(jax, options, watch)
        jax.distributed.shutdown()
        watch.stop()
    except MindError as e:
        shown(e)
        sys.stdout.flush()
        os._exit(1)  # to leave in order needs the others, of which one may be gone
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
