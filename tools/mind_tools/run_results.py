"""Results of `mind-run`: their names, their text, and files of them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp

from mind_dialect.program import functions_called, input_names, value_ids

if TYPE_CHECKING:
    from mind_runtime import TensorSpec

    from .input_files import Array


def result_names(func: FuncOp) -> list[str]:
    """
    A name for each result, all different: that of the value in the text, `grad_x` for a gradient, else `out0` and so on.

    Names hold letters, digits, `_`, `.` and `-` only, so that they can be file names.
    """
    last = func.body.block.last_op
    values = tuple(last.operands) if last is not None else ()
    gradients = func.attributes.get("mind.grad_wrt")
    wrt = list[Any](gradients.get_values()) if isinstance(gradients, DenseArrayBase) else []
    inputs = input_names(func)
    first = len(values) - len(wrt)
    names: list[str] = []
    for i, value in enumerate(values):
        hint = value.name_hint
        if i >= first:
            hint = f"grad_{_differentiated(func, inputs, wrt[i - first])}"
        name = re.sub(r"[^\w.-]", "_", hint, flags=re.ASCII).lstrip(".-") if hint else ""
        candidates = chain([name[:80]] if name else [], [f"out{i}"], (f"out{i}.{j}" for j in count(1)))
        names.append(next(candidate for candidate in candidates if candidate not in names))
    return names


def _differentiated(gradient: FuncOp, inputs: Sequence[str], place: int) -> str:
    """The name of the value with ValueId `place` in the function whose gradient this is; the number of one without a name."""
    if place < len(inputs):
        return inputs[place]
    primal = gradient.attributes.get("mind.grad_of")
    module = gradient.parent_op()
    if isinstance(primal, SymbolRefAttr) and isinstance(module, ModuleOp):
        for func in functions_called(module, primal.string_value()):
            ids = value_ids(func.body.block) if len(func.body.blocks) == 1 else {}
            return next((x.name_hint for x, i in ids.items() if i == place), None) or str(place)
    return str(place)


def shown(name: str, spec: TensorSpec, array: Array) -> str:
    """A result as text."""
    import numpy as np

    text = np.array2string(array, separator=", ", threshold=1000, max_line_width=110)
    return f"{name}: {spec} =" + ("\n" if "\n" in text else " ") + text


def save(path: Path, results: Mapping[str, Array]) -> None:
    """Write results into the folder `path`, a file each, or into one archive; the folder is made if need be."""
    import numpy as np

    (folder := path.parent if path.suffix == ".npz" else path).mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npz":
        with zipfile.ZipFile(
            path, "w"
        ) as archive:  # what np.savez would do, but that it takes a result called `file` for its own
            for name, array in results.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(cast(Any, file), array, allow_pickle=False)
        return
    for name, array in results.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
