"""
One gradient module, many processes: the same bytes under every PYTHONHASHSEED.

    python benchmarks/determinism.py [--processes 100] [--file FILE]

The status is 1 when two processes print different text.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import track

ROOT = Path(__file__).parents[1]
FILE = ROOT / "examples" / "mlp.coreir"
MIND_OPT = Path(sys.executable).with_name("mind-opt")


def gradient_text(file: Path, seed: int) -> bytes:
    """What a fresh process prints as the gradient module of `@loss`."""
    command = [MIND_OPT, "--canonicalize", "--autodiff=function=loss", file]
    environment = os.environ | {"PYTHONHASHSEED": str(seed)}
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


def main() -> int:
    """Count the distinct texts and write the result."""
    parser = argparse.ArgumentParser(description="gradient modules under many hash seeds")
    parser.add_argument("--processes", type=int, default=100)
    parser.add_argument("--file", type=Path, default=FILE, help="a file with a function @loss")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    options = parser.parse_args()
    console = Console()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        texts = pool.map(lambda seed: gradient_text(options.file, seed), range(1, options.processes + 1))
        counts = Counter(hashlib.sha256(t).hexdigest() for t in track(texts, "gradients", options.processes, console=console))
    report = [f"# Determinism\n\n{options.processes} processes, PYTHONHASHSEED 1 to {options.processes}: "]
    report.append(f"{len(counts)} distinct gradient module{'s' * (len(counts) != 1)} of `{options.file.name}`.\n\n")
    report += [f"- {n} times sha256 `{digest}`\n" for digest, n in counts.most_common()]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "determinism.md").write_text("".join(report), encoding="utf-8")
    console.print("".join(report), markup=False, highlight=False, soft_wrap=True)
    return int(len(counts) != 1)


if __name__ == "__main__":
    raise SystemExit(main())
