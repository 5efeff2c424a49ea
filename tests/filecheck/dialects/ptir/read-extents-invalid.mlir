// RUN: mind-opt %s --print-diagnostics --split-input-file | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @no_list(%x: tensor<4xf32>, %n: tensor<si64>) -> tensor<4xf32> attributes {mind.extents = 1 : i64} {
    func.return %x : tensor<4xf32>
  }
}
// CHECK: error[E4000]: func.func: mind.extents is 1 : i64, expected a list of integers for each result
// CHECK: = note: VerificationError

// -----

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @no_integers(%x: tensor<4xf32>, %n: tensor<si64>) -> tensor<4xf32> attributes {mind.extents = ["n"]} {
    func.return %x : tensor<4xf32>
  }
}
// CHECK: error[E4000]: func.func: expected a list of i64 (array<i64: ...>), found "n"
// CHECK: = note: VerificationError

// -----

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @rank(%x: tensor<4xf32>, %n: tensor<si64>) -> tensor<4xf32> attributes {mind.extents = [array<i64: 1, 1>]} {
    func.return %x : tensor<4xf32>
  }
}
// CHECK: error[E4000]: func.func: mind.extents is [array<i64: 1, 1>], expected 1 integers for result 0
// CHECK: = note: VerificationError

// -----

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @no_size(%x: tensor<4xf32>, %n: tensor<si32>) -> tensor<4xf32> attributes {mind.extents = [array<i64: 1>]} {
    func.return %x : tensor<4xf32>
  }
}
// CHECK: error[E4000]: func.func: mind.extents is [array<i64: 1>], expected -1 or the number of an argument of type tensor<si64> for result 0
// CHECK: = note: VerificationError
