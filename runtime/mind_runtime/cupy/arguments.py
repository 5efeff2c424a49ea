"""Arguments that are arrays of the GPU: CuPy's arrays, and others by DLPack, which are not copied."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from mind_dialect.errors import error

from ..donation import overlapping, range_of
from .gpu import Array, Machine

CUDA_DEVICES = (2, 13)
"""DLPack's numbers for memory of a GPU: CUDA's own, and managed."""
NAMES = {1: "the host", 2: "a GPU", 3: "the host, pinned", 10: "an AMD GPU", 13: "a GPU, managed"}


def on_device(argument: Any, spec: Any, what: str, machine: Machine, xp: Any) -> Array:
    """
    An array of this GPU, or what can become one without a copy.

    E2001 for another dtype or shape, for memory that is elsewhere, and for what is no array.
    """
    if not machine.is_here(argument):
        argument = _imported(argument, spec, what, xp)
    actual = f"{argument.dtype}{list(argument.shape)}"
    if argument.dtype != spec.numpy_dtype or not spec.fits(argument.shape):
        expected = f"an array of {spec.numpy_dtype}[{', '.join(map(str, spec.shape))}]"
        message = f"{what}: expected {expected}, found {actual}{spec.misfit(argument.shape)}"
        raise error("E2001", message, expected=str(spec), actual=actual)
    place, here = getattr(getattr(argument, "device", None), "id", None), machine.device
    if place is not None and place != here:
        message = f"{what}: expected an array on GPU {here}, the current one, found one on GPU {place}"
        raise error("E2001", message, expected=str(spec), actual=f"GPU {place}")
    return argument


def _imported(argument: Any, spec: Any, what: str, xp: Any) -> Array:
    """An array of another library, by DLPack."""
    given = type(argument).__name__
    if not hasattr(argument, "__dlpack__") or not hasattr(argument, "__dlpack_device__"):
        expected = f"a NumPy array, or one on the GPU, of {spec.numpy_dtype}[{', '.join(map(str, spec.shape))}]"
        raise error("E2001", f"{what}: expected {expected}, found {given}", expected=str(spec), actual=given)
    try:
        kind = int(argument.__dlpack_device__()[0])
        if kind in CUDA_DEVICES:
            return xp.from_dlpack(argument)
        issue = f"its memory is that of {NAMES.get(kind, f'device {kind} of DLPack')}"
    except Exception as e:
        issue = str(e)
    message = f"{what}: expected a NumPy array, or one on the GPU, found {given}: {issue}"
    raise error("E2001", message, expected=str(spec), actual=given) from None


def shared_memory(arguments: Sequence[Any], donated: Collection[int], machine: Machine) -> set[int]:
    """Return the donated arguments that share an address with any other, on the GPU or on the host."""
    on_gpu = {i: range_of(a, machine.address(a)) for i, a in enumerate(arguments) if a.size and machine.is_here(a)}
    addresses = {i: a.__array_interface__["data"][0] for i, a in enumerate(arguments) if a.size and i not in on_gpu}
    on_host = {i: range_of(arguments[i], address) for i, address in addresses.items()}
    return overlapping(on_gpu, donated) | overlapping(on_host, donated)
