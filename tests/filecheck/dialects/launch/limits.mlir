// RUN: mind-opt %s | filecheck %s
// RUN: mind-opt %s | mind-opt | filecheck %s
// RUN: mind-opt %s --print-op-generic | mind-opt | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  // A kernel reads the sizes that limit its units of work.
  // CHECK: launch.kernel @exp within (%n) (%0) -> (%1) grid [4, 16] limits {{\[\[}}1, 8, 64]] schedule "exp over [4, 128, 8]" : (memref<4x128x8xf32>) -> (memref<4x128x8xf32>)
  // CHECK: launch.kernel @neg within (%n, %m) (%1) -> (%2) grid [4, 16] limits {{\[\[}}1, 8, 64], [0, 1, 1]] schedule
  func.func @both(%x: tensor<4x128x8xf32>, %n_size: tensor<si64>, %m_size: tensor<si64>) -> tensor<4x128x8xf32> {
    %0 = launch.alloc input 0 : memref<4x128x8xf32>
    %n = launch.alloc input 1 : memref<si64>
    %m = launch.alloc input 2 : memref<si64>
    %1 = launch.alloc arena at 0 : memref<4x128x8xf32>
    launch.kernel @exp within (%n) (%0) -> (%1) grid [4, 16] limits [[1, 8, 64]] schedule "exp over [4, 128, 8]" : (memref<4x128x8xf32>) -> (memref<4x128x8xf32>)
    %2 = launch.alloc output 0 : memref<4x128x8xf32>
    launch.kernel @neg within (%n, %m) (%1) -> (%2) grid [4, 16] limits [[1, 8, 64], [0, 1, 1]] schedule "neg over [4, 128, 8]" : (memref<4x128x8xf32>) -> (memref<4x128x8xf32>)
    launch.return %2 : memref<4x128x8xf32>
  }
}
