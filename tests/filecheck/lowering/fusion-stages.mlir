// RUN: mind-opt %s --lower-to-native=isa=avx2 --print-between-passes 2>&1 | filecheck %s --check-prefix=NATIVE
// RUN: mind-opt %s --fuse-for-cupy --mlir-print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGED
// RUN: mind-opt %s --fuse-for-cupy=fast-reduce=true --print-ir-after=ptir-fuse 2>&1 | filecheck %s --check-prefix=ONE
// RUN: mind-opt %s --fuse-for-cupy | filecheck %s --check-prefix=CUPY

// A pass of stages is shown stage by stage, by the names of the passes that do the same alone.
// NATIVE:       // -----// IR Dump After mind-convert-to-ptir //----- //
// NATIVE:         [[N:%[a-z0-9_]+]] = ptir.layer_norm %x, %g, %b
// NATIVE-NEXT:    [[M:%[a-z0-9_]+]] = ptir.neg [[N]]
// NATIVE:       // -----// IR Dump After mind-ptir-expand-norms //----- //
// NATIVE:         [[F:%[a-z0-9_]+]] = ptir.fusion %x, %g, %b
// NATIVE-NOT:     ptir.layer_norm
// NATIVE:         [[E:%[a-z0-9_]+]] = ptir.neg [[F]]
// NATIVE:       // -----// IR Dump After mind-ptir-fuse //----- //
// NATIVE:       // -----// IR Dump After mind-ptir-form-rows //----- //
// NATIVE:         [[R:%[a-z0-9_]+]] = ptir.fusion %x, %g, %b
// NATIVE:           ptir.neg
// NATIVE-NEXT:      ptir.yield
// NATIVE:       // -----// IR Dump After mind-forget-origins //----- //
// NATIVE:       func.return

// CHANGED:      // -----// IR Dump After mind-ptir-expand-norms //----- //
// CHANGED:      // -----// IR Dump After mind-ptir-wrap-ops //----- //
// CHANGED:      // -----// IR Dump After mind-ptir-merge-rows //----- //
// CHANGED-NOT:  // -----// IR Dump After mind-ptir-rematerialize //----- //
// CHANGED:      // -----// IR Dump After mind-fuse-for-cupy //----- //

// ONE:          // -----// IR Dump After mind-ptir-fuse //----- //
// ONE-NOT:      // -----// IR Dump After

// CUPY-LABEL:   func.func @f
// CUPY-NEXT:      [[R:%[a-z0-9_]+]] = ptir.fusion %x, %g, %b : (tensor<4x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<4x64xf32> body {
// CUPY:             [[E:%[a-z0-9_]+]] = ptir.neg
// CUPY-NEXT:        ptir.yield [[E]] : tensor<4x64xf32>
// CUPY-NEXT:      }
// CUPY-NEXT:      func.return [[R]] : tensor<4x64xf32>
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<4x64xf32>, %g: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<4x64xf32> {
    %n = ptir.layer_norm %x, %g, %b feature_axis = -1 epsilon = 1.0e-5 : (tensor<4x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
    %m = ptir.neg %n : tensor<4x64xf32>
    func.return %m : tensor<4x64xf32>
  }
}
