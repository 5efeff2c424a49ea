"""Server of a child process that compiles for sizes (`compile_child.py`): it reads requests, and answers them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, TextIO

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.parser import Parser

from mind_dialect import register
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_lowering.native.options import NativeOptions
from mind_lowering.target_options import read_target

from ..compiled import clear as clear_bodies
from ..shapes import bound_function
from .compile_child import MODULES
from .executable import clear, image_name
from .program import compile_native
from .source import restore


def serve() -> None:
    """Answer requests from stdin until it ends; what is printed meanwhile is no answer."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(5)  # calls of the parent come first
    _serve(sys.stdin, answers)


def _serve(requests: TextIO, answers: TextIO) -> None:
    modules: OrderedDict[str, Any] = OrderedDict()
    for line in requests:
        try:
            answer = _compiled(json.loads(line), modules)
        except (MindError, ArithmeticError, LookupError, MemoryError, OSError, RecursionError, TypeError, ValueError) as e:
            answer = {"refused": f"{type(e).__name__}: {e}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _compiled(request: Mapping[str, Any], modules: OrderedDict[str, Any]) -> dict[str, Any]:
    """Compile what a request says, and return the answer."""
    start, name = time.process_time(), str(request["name"])
    if request["text"] is not None:
        module = modules[name] = _parsed(str(request["text"]))
        if request["file"] is not None:
            restore(module, [(number, size) for number, size in request["constants"]], str(request["file"]))
        while len(modules) > MODULES:
            modules.popitem(last=False)
    source = next(iter(functions(modules[name])))
    bound = bound_function(source, tuple(tuple(shape) for shape in request["shapes"]))
    if bound is None:
        return {"refused": "no sizes for all dimensions"}
    donated, fixed = tuple(request["donated"]), tuple(request["fixed"])
    options = NativeOptions.of(read_target(f"native{{{request['options']}}}")[1])
    made = compile_native(bound[0], donated, request["limit"], request["threads"], fixed, options)
    key = image_name(bound[0], options.host(), donated, fixed)
    clear()
    clear_bodies()
    return {"key": key, "outputs": [spec.shape for spec in made.outputs], "seconds": time.process_time() - start}


def _parsed(text: str) -> Any:
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func):
        ctx.load_dialect(dialect)
    register(ctx)
    return Parser(ctx, text).parse_module()
