"""
Fuzzing: generated inputs of several kinds, each of which must be accepted or refused by a coded error.

    make fuzz SECONDS=600
    PYTHONPATH=benchmarks python -m fuzz [--seconds N | --inputs N] [--seed N] [--kind NAME] [--fresh] [--out FOLDER]

An input depends on the seed, its kind and its number alone. A traceback, a crash, a hang, a broken round trip and a difference
between executors are findings. Inputs run in a child process of bounded memory, each within bounded processor time. Findings of
one cause (kind of failure and innermost frame in our packages) are counted together and minimised. `.fuzz` keeps the counts and
the findings: a run that was stopped goes on, and begins again once the sources have changed, with the findings first. What was
mended stays in `benchmarks/fuzz/regressions`, which every run tries too. `benchmarks/results/fuzz.md` is the summary.
"""
