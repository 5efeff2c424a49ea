"""
The xDSL plug-in: dialects, passes and targets by name, each loaded on first use.

Every xdsl-opt of the environment imports this file at start, so it imports nothing heavy and cannot fail.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

ENTRY_POINT = "mind_tools.universe:MIND_UNIVERSE"
"""Of this plug-in, as pyproject.toml has it."""


def _from(module: str, name: str) -> Callable[[], Any]:
    """Return a function that imports `module` when called and returns its `name`."""

    def load() -> Any:
        return getattr(importlib.import_module(module), name)

    return load


DIALECTS: dict[str, Callable[[], Dialect]] = {
    "mind": _from("mind_dialect", "Mind"),
    "ptir": _from("mind_dialect.ptir", "Ptir"),
    "launch": _from("mind_lowering.launch", "Launch"),
    "xp": _from("mind_lowering.xp", "Xp"),
}
SHAPE: dict[str, Callable[[], Dialect]] = {"shape": _from("mind_dialect.shape", "Shape")}
"""Ours in our own tools; in the plug-in only while no other package has a dialect of that name, which MLIR's own has."""
FOREIGN: dict[str, Callable[[], Dialect]] = {
    **{name: _from("mind_dialect.stablehlo", name.capitalize()) for name in ("stablehlo", "chlo", "sdy")},
    "enzyme": _from("mind_dialect.enzyme", "Enzyme"),
}
"""Other systems' dialects, as far as reading takes it; only while no other package has them."""
NEIGHBOURS: dict[str, Callable[[], Dialect]] = {
    "tensor": _from("mind_dialect.neighbours", "Tensor"),
    "memref": _from("mind_dialect.neighbours", "MemRef"),
}
"""xDSL's dialects with what MLIR reads and xDSL does not; in our own tools only, as a plug-in cannot replace a dialect."""
PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "mind-inline": _from("mind_passes.inline", "MindInlinePass"),
    "mind-canonicalize": _from("mind_passes.canonicalize", "MindCanonicalizePass"),
    "mind-autodiff": _from("mind_passes.autodiff", "MindAutodiffPass"),
    "mind-split-gradient": _from("mind_passes.split_gradient", "MindSplitGradientPass"),
    "mind-jvp": _from("mind_passes.forward", "MindJvpPass"),
    "mind-vectorize": _from("mind_passes.vectorize", "MindVectorizePass"),
    "mind-lower-enzyme": _from("mind_passes.enzyme", "LowerEnzymePass"),
    "mind-canonicalize-shape": _from("mind_passes.shape.canonicalize", "CanonicalizeShapePass"),
    "mind-shape-infer": _from("mind_passes.shape.infer", "ShapeInferPass"),
    "mind-convert-to-ptir": _from("mind_lowering.core_to_ptir", "ConvertMindToPtirPass"),
    "mind-convert-stablehlo-to-ptir": _from("mind_translate.stablehlo", "ConvertStablehloToPtirPass"),
    "mind-ptir-canonicalize": _from("mind_passes.ptir.canonicalize", "PtirCanonicalizePass"),
    "mind-ptir-cse": _from("mind_passes.ptir.cse", "PtirCsePass"),
    "mind-ptir-dce": _from("mind_passes.ptir.dce", "PtirDcePass"),
    "mind-ptir-hoist": _from("mind_passes.ptir.hoist", "PtirHoistPass"),
    "mind-mask-padding": _from("mind_passes.shape.mask_padding", "MaskPaddingPass"),
    "mind-ptir-sink-views": _from("mind_passes.ptir.sink_views", "PtirSinkViewsPass"),
    "mind-ptir-defuse": _from("mind_passes.fusion.defuse", "PtirDefusePass"),
    "mind-ptir-fold": _from("mind_lowering.ptir_fold", "PtirFoldPass"),
    "mind-ptir-fuse": _from("mind_passes.fusion.fuse", "PtirFusePass"),
    "mind-ptir-convolve-patches": _from("mind_passes.fusion.convolve_patches", "PtirConvolvePatchesPass"),
    "mind-ptir-split-windows": _from("mind_passes.fusion.split_windows", "PtirSplitWindowsPass"),
    "mind-ptir-narrow-products": _from("mind_lowering.narrow_products", "PtirNarrowProductsPass"),
    "mind-ptir-compact-scatters": _from("mind_passes.fusion.compact_scatters", "PtirCompactScattersPass"),
    "mind-ptir-quantized-products": _from("mind_lowering.quantized_products", "PtirQuantizedProductsPass"),
    "mind-ptir-select-scatters": _from("mind_passes.fusion.select_scatters", "PtirSelectScattersPass"),
    "mind-ptir-gather-axes": _from("mind_passes.fusion.gather_axes", "PtirGatherAxesPass"),
    "mind-ptir-expand-quantized": _from("mind_passes.fusion.expand_quantized", "PtirExpandQuantizedPass"),
    "mind-ptir-expand-complex": _from("mind_passes.ptir.expand_complex", "PtirExpandComplexPass"),
    "mind-ptir-expand-digamma": _from("mind_passes.ptir.expand_digamma", "PtirExpandDigammaPass"),
    "mind-ptir-expand-arg-extremes": _from("mind_passes.ptir.expand_arg_extremes", "PtirExpandArgExtremesPass"),
    "mind-ptir-expand-narrow": _from("mind_passes.ptir.expand_narrow", "PtirExpandNarrowPass"),
    "mind-ptir-expand-norms": _from("mind_passes.fusion.expand_norms", "PtirExpandNormsPass"),
    "mind-ptir-unroll-axes": _from("mind_passes.fusion.unroll_axes", "PtirUnrollAxesPass"),
    "mind-ptir-tile-batch": _from("mind_passes.fusion.tile_batch", "PtirTileBatchPass"),
    "mind-ptir-move-casts": _from("mind_passes.fusion.move_casts", "PtirMoveCastsPass"),
    "mind-ptir-absorb-views": _from("mind_passes.fusion.absorb_views", "PtirAbsorbViewsPass"),
    "mind-ptir-split-products": _from("mind_passes.fusion.split", "PtirSplitProductsPass"),
    "mind-ptir-split-reductions": _from("mind_passes.fusion.split", "PtirSplitReductionsPass"),
    "mind-ptir-wrap-ops": _from("mind_passes.fusion.wrap", "PtirWrapOpsPass"),
    "mind-ptir-fuse-convolutions": _from("mind_passes.fusion.fuse_convolutions", "PtirFuseConvolutionsPass"),
    "mind-ptir-merge-components": _from("mind_passes.fusion.merge_components", "PtirMergeComponentsPass"),
    "mind-ptir-merge-lookups": _from("mind_passes.fusion.merge_lookups", "PtirMergeLookupsPass"),
    "mind-ptir-merge-rows": _from("mind_passes.fusion.merge_rows", "PtirMergeRowsPass"),
    "mind-ptir-form-rows": _from("mind_passes.fusion.form_rows", "PtirFormRowsPass"),
    "mind-ptir-merge-producers": _from("mind_passes.fusion.merge_producers", "PtirMergeProducersPass"),
    "mind-ptir-rematerialize": _from("mind_passes.fusion.rematerialize", "PtirRematerializePass"),
    "mind-ptir-place-parts": _from("mind_passes.fusion.place_parts", "PtirPlacePartsPass"),
    "mind-ptir-product-epilogues": _from("mind_passes.fusion.product_epilogues", "PtirProductEpiloguesPass"),
    "mind-ptir-optimize": _from("mind_lowering.ptir_optimize", "PtirOptimizePass"),
    "mind-ptir-recognize": _from("mind_passes.ptir.recognize", "PtirRecognizePass"),
    "mind-ptir-split-parameters": _from("mind_passes.ptir.split_parameters", "PtirSplitParametersPass"),
    "mind-ptir-sink-filters": _from("mind_passes.ptir.sink_filters", "PtirSinkFiltersPass"),
    "mind-convert-ptir-to-linalg": _from("mind_lowering.ptir_to_linalg", "ConvertPtirToLinalgPass"),
    "mind-convert-ptir-to-stablehlo": _from("mind_lowering.ptir_to_stablehlo", "ConvertPtirToStablehloPass"),
    "mind-convert-ptir-to-launch": _from("mind_lowering.launch.convert", "ConvertPtirToLaunchPass"),
    "mind-launch-hoist-packing": _from("mind_lowering.launch.hoist_packing", "LaunchHoistPackingPass"),
    "mind-launch-loop-carried": _from("mind_lowering.launch.loop_carried", "LaunchLoopCarriedPass"),
    "mind-launch-assign-memory": _from("mind_lowering.launch.assign_memory", "LaunchAssignMemoryPass"),
    "mind-plan-buffers": _from("mind_lowering.plan_buffers", "PlanBuffersPass"),
    "mind-shape-modernize": _from("mind_passes.shape.modernize", "ShapeModernizePass"),
    "mind-shape-to-early": _from("mind_passes.shape.early", "ShapeToEarlyPass"),
    "mind-reify-shapes": _from("mind_passes.shape.reify", "ReifyShapesPass"),
    "mind-lower-shape-to-arith": _from("mind_lowering.shape_to_arith", "LowerShapeToArithPass"),
    "mind-remove-shape-constraints": _from("mind_passes.shape.constraints", "RemoveShapeConstraintsPass"),
    "mind-convert-shape-constraints": _from("mind_passes.shape.constraints", "ConvertShapeConstraintsPass"),
    "mind-shape-to-shape-lowering": _from("mind_passes.shape.constraints", "ShapeToShapeLoweringPass"),
    "mind-outline-shape-computation": _from("mind_passes.shape.outline", "OutlineShapeComputationPass"),
    "mind-shape-fn-report": _from("mind_passes.shape.report", "ShapeFnReportPass"),
    "mind-resolve-shaped-type-result-dims": _from("mind_passes.shape.resolve", "ResolveShapedTypeResultDimsPass"),
    "mind-convert-shape-to-std": _from("mind_lowering.shape_to_std", "ConvertShapeToStdPass"),
    "mind-lower-to-native": _from("mind_lowering.native.program", "LowerToNativePass"),
    "mind-fuse-for-cupy": _from("mind_lowering.cupy.prepare", "FuseForCupyPass"),
    "mind-lower-to-cupy": _from("mind_lowering.cupy.lower_to_cupy", "LowerToCupyPass"),
    "mind-lower-to-numpy": _from("mind_lowering.lower_to_numpy", "LowerToNumpyPass"),
}
TARGETS: dict[str, Callable[[], type[Target]]] = {
    "mind-cupy": _from("mind_lowering.cupy.source", "CupyTarget"),
    "mind-native": _from("mind_lowering.native.program", "NativeTarget"),
    "mind-numpy": _from("mind_lowering.numpy", "NumpyTarget"),
    "mind-core-ir": _from("mind_translate.core_ir", "CoreIRTarget"),
    "mind-ptir-json": _from("mind_translate.ptir_json", "PtirJsonTarget"),
    "mind-ptir-text": _from("mind_translate.ptir_text", "PtirTextTarget"),
    "mind-ptir-snippet": _from("mind_translate.ptir_text", "PtirSnippetTarget"),
    "mind-stablehlo": _from("mind_lowering.ptir_to_stablehlo", "StablehloPrintTarget"),
    "mind-onnx": _from("mind_lowering.ptir_to_onnx", "OnnxTarget"),
    "mind-shape-python": _from("mind_lowering.shape_python", "ShapePythonTarget"),
    "mind-buffer-plan": _from("mind_lowering.plan_buffers", "BufferPlanTarget"),
}


def _provided_elsewhere(name: str) -> bool:
    """Return whether xDSL or another plug-in has a dialect called `name`: two of one name stop every xdsl-opt."""
    if name in get_all_dialects():
        return True
    for plug_in in entry_points(group="xdsl.universe"):
        if plug_in.value == ENTRY_POINT:
            continue
        try:
            universe = plug_in.load()
        except Exception:  # xdsl-opt will say what is wrong with it
            continue
        if name in getattr(universe, "all_dialects", ()):
            return True
    return False


DIALECTS.update({name: load for name, load in {**SHAPE, **FOREIGN}.items() if not _provided_elsewhere(name)})

MIND_UNIVERSE = Universe(all_dialects=DIALECTS, all_passes=PASSES, all_targets=TARGETS)


@cache
def multiverse() -> Universe:
    """
    Return what xDSL and all plug-ins have, ours included where the package is on the path but not installed.

    The metadata of every package that is installed are read for it, once per process.
    """
    found = Universe.get_multiverse()
    if PASSES.keys() <= found.all_passes.keys():
        return found
    return Universe(
        all_dialects={**found.all_dialects, **DIALECTS},
        all_passes={**found.all_passes, **PASSES},
        all_targets={**found.all_targets, **TARGETS},
    )


def tool_dialects() -> dict[str, Callable[[], Dialect]]:
    """The dialects of our own tools: those of xDSL and all plug-ins, but our `shape`, `tensor` and `memref`."""
    return {**multiverse().all_dialects, **NEIGHBOURS, **SHAPE}


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Our passes by name, to add to the table that a `PassPipeline.parse_spec` reads from."""
    return dict(PASSES)


def get_all_targets() -> dict[str, Callable[[], type[Target]]]:
    """Our targets by name."""
    return dict(TARGETS)
