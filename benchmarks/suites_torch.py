"""
The samples of PyTorch's operator tests on our executors: values, and our reverse mode against PyTorch's.

    python benchmarks/suites_torch.py [--executors numpy,native] [--visible] [--most 2] [--only TEXT] [--write FILE]

They come with the wheel of torch (`torch.testing._internal.common_methods_invocations`) and need `expecttest`. The first samples
of each operator run. An operator is visible if `int(sha256(name), 16) % 10 < 3`; rows are written for visible ones only. The
status is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from suites import Case, shown_reason, table

KINDS = ("values", "VJPs")
HEAD = """\
`make suites-torch` writes this page: the samples that come with PyTorch {version} (`common_methods_invocations.op_db`). This run
took {which}, the first {most} samples of f32 of each. Operators whose results nothing determines, such as `empty`, are left out.

Each sample is exported, imported and run, and compared with what PyTorch computes, by the tolerances of
[the other suites](conformance-suites.md). Results are those that PyTorch's own tests differentiate (`output_process_fn_grad`):
without the signs of eigenvectors, for example. Where PyTorch differentiates it, our reverse mode is compared with PyTorch's, for
a random cotangent. Not compared are the VJPs of

{kept}

Cases without a form are those that the table refuses for a stated reason, such as random numbers and results whose size depends
on data, and those that `torch.export` cannot export. The last column leaves them out.
"""
NO_ROW = "an op without an import rule"


def judge_share(share: int, shares: int, options: argparse.Namespace) -> list[Case]:
    """Judge every so many-th operator."""
    import torch
    from torch_opinfo import UNDETERMINED, full_name, operators, run_case, samples

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found: list[Case] = []
    for i, op in enumerate(operators(visible=options.visible)):
        if i % shares == share and op.name not in UNDETERMINED and options.only in full_name(op):
            for number, sample in enumerate(samples(op, options.most)):
                found.append(run_case(op, number, sample, options.executors.split(",")))
    return found


def run(options: argparse.Namespace) -> list[Case]:
    """Judge all operators in processes; return the cases by name."""
    shares = [(share, options.processes, options) for share in range(options.processes)]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        parts = pool.starmap(judge_share, shares)
    return sorted((case for part in parts for case in part if case.outcomes), key=lambda case: case.name)


def counted(cases: Sequence[Case], key: str) -> Counter[str]:
    """Return how many cases have each outcome."""
    return Counter(case.outcomes[key].status for case in cases if key in case.outcomes)


def lacks_row(case: Case, key: str) -> bool:
    """Return whether a case is refused, and for nothing but a missing row."""
    outcome = case.outcomes.get(key)
    return outcome is not None and outcome.status == "refused" and all(reason.endswith(NO_ROW) for reason in outcome.reasons)


def share(part: int, whole: int) -> str:
    """A percentage."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def part(cases: Sequence[Case], options: argparse.Namespace) -> str:
    """Return the results as Markdown."""
    from torch_opinfo import NOT_COMPARED

    executors: list[str] = options.executors.split(",")
    which = "its visible operators" if options.visible else "all its operators"
    kept = "\n".join(f"- `{name}`: {why}" for name, why in NOT_COMPARED.items())
    head = HEAD.format(version=version("torch").partition("+")[0], which=which, most=options.most, kept=kept)
    lines = ["# Conformance: samples of PyTorch's operators", "", head]
    lines += table(["suite", "executor", "cases", "passed", "refused", "wrong", "of all", "of those with a form"])
    for kind in KINDS:
        for executor in executors:
            key = f"{kind} {executor}"
            n = counted(cases, key)
            with_form = n["passed"] + n["wrong"] + sum(lacks_row(case, key) for case in cases)
            shares = (share(n["passed"], n.total()), share(n["passed"], with_form))
            figures = (n.total(), n["passed"], n["refused"], n["wrong"], *shares)
            lines.append(f"| PyTorch OpInfo, {kind} | {executor} | {' | '.join(map(str, figures))} |")
    lines += ["", "## Refused by the import", ""]
    lines += table(["reason", *KINDS])
    reasons = {
        (r, key.split()[0], c.name) for c in cases for key, o in c.outcomes.items() if o.status == "refused" for r in o.reasons
    }
    by_kind = {kind: Counter(reason for reason, k, _ in reasons if k == kind) for kind in KINDS}
    for reason in sorted({r for r, _, _ in reasons}):
        lines.append(f"| {shown_reason(reason)} | {' | '.join(str(by_kind[kind][reason]) for kind in KINDS)} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the samples and write their page."""
    parser = argparse.ArgumentParser(description="the samples of PyTorch's operators on our executors")
    parser.add_argument("--executors", default="numpy,native")
    parser.add_argument("--visible", action="store_true", help="run visible operators only")
    parser.add_argument("--most", type=int, default=2, help="samples of an operator")
    parser.add_argument("--only", default="", help="operators whose names hold this text")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", type=Path, help="the page to write")
    options = parser.parse_args(arguments)
    cases = run(options)
    text = part(cases, options)
    if options.write is None:
        print(text)
    else:
        options.write.write_text(text, encoding="utf-8")
    wrong = [(c.name, key, o) for c in cases for key, o in c.outcomes.items() if o.status == "wrong"]
    for name, key, outcome in wrong:
        print(f"wrong: {key}: {name}: {outcome.reasons[0]}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
