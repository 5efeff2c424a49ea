"""
MLIR bytecode and StableHLO's portable artifacts as text, by jaxlib in a process of its own.

The bytes come from anywhere, and native code reads them: whatever it does, this process goes on. The extra `jax` brings jaxlib.
"""

from __future__ import annotations

import os
import subprocess
import sys

from mind_dialect.errors import MindError, brief, error

MAGIC = b"ML\xefR"
"""First bytes of MLIR bytecode, portable artifacts included."""
TIME_LIMIT = 120
"""Reading may take this many seconds."""
MAX_BYTES = 1 << 31

_READER = """
import sys
try:
    import jax.extend.mlir
    from jax.interpreters import mlir
    from jaxlib.mlir import ir
except ImportError as e:
    sys.stderr.write(f"import: {e}")
    sys.exit(3)
data, context = sys.stdin.buffer.read(), mlir.make_ir_context()
with context:
    try:
        module = ir.Module.parse(data) if b"StableHLO_v" not in data[:64] else None
        if module is None:
            module = jax.extend.mlir.deserialize_portable_artifact(data, context)
            module = module if isinstance(module, ir.Module) else ir.Module.parse(module)
    except Exception as e:
        sys.stderr.write(str(e))
        sys.exit(4)
    text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True, use_local_scope=True)
    sys.stdout.buffer.write(text.encode())
"""


def is_bytecode(data: bytes) -> bool:
    """Return whether bytes are MLIR bytecode."""
    return data.startswith(MAGIC)


def bytecode_text(data: bytes, name: str) -> str:
    """
    The generic text of bytecode or of a portable artifact.

    Raises E7002 where jaxlib is not installed, E1007 for bytes that it cannot read, E6007 after `TIME_LIMIT` seconds.
    """
    if len(data) > MAX_BYTES:
        raise error("E7002", f"{name}: {len(data)} bytes of bytecode, expected at most {MAX_BYTES}", path=name)
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", _READER]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=TIME_LIMIT, env=environment, check=False)
    except subprocess.TimeoutExpired:
        raise error("E6007", f"{name}: reading the bytecode took more than {TIME_LIMIT} s", limit=TIME_LIMIT) from None
    if done.returncode:
        raise _failure(done.returncode, done.stderr.decode("utf-8", "replace"), name)
    return done.stdout.decode("utf-8", "replace")


def _failure(status: int, messages: str, name: str) -> MindError:
    if status == 3:
        found = brief(messages.removeprefix("import: "))
        message = f"{name} is MLIR bytecode, which needs jaxlib: {found}; install mind-dialect[jax], or pass text"
        return error("E7002", message, path=name)
    lines = [line.strip() for line in messages.splitlines() if "error:" in line] or [f"the reader ended with status {status}"]
    said = brief(lines[0].partition("error:")[2].strip() or lines[0])
    return error("E1007", f"{name}: not bytecode that the StableHLO of this jaxlib can read: {said}")
