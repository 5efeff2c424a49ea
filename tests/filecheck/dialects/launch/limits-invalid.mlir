// RUN: mind-opt %s --print-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

func.func @a_size_without_a_limit(%x: tensor<8xf32>, %n_size: tensor<si64>) -> tensor<8xf32> {
  %0 = launch.alloc input 0 : memref<8xf32>
  %n = launch.alloc input 1 : memref<si64>
  %1 = launch.alloc output 0 : memref<8xf32>
  launch.kernel @exp within (%n) (%0) -> (%1) schedule "none" : (memref<8xf32>) -> (memref<8xf32>)
  launch.return %1 : memref<8xf32>
}
// CHECK: error[E8002]: launch.kernel: limits is absent, expected one for each of 1 sizes, each along an axis of its own

// -----

func.func @a_limit_without_a_grid(%x: tensor<8xf32>, %n_size: tensor<si64>) -> tensor<8xf32> {
  %0 = launch.alloc input 0 : memref<8xf32>
  %n = launch.alloc input 1 : memref<si64>
  %1 = launch.alloc output 0 : memref<8xf32>
  launch.kernel @exp within (%n) (%0) -> (%1) limits [[0, 1, 1]] schedule "none" : (memref<8xf32>) -> (memref<8xf32>)
  launch.return %1 : memref<8xf32>
}
// CHECK: error[E8002]: launch.kernel: grid is absent, expected numbers of units of work, at least 1, together with limits

// -----

func.func @an_axis_beyond_the_grid(%x: tensor<8xf32>, %n_size: tensor<si64>) -> tensor<8xf32> {
  %0 = launch.alloc input 0 : memref<8xf32>
  %n = launch.alloc input 1 : memref<si64>
  %1 = launch.alloc output 0 : memref<8xf32>
  launch.kernel @exp within (%n) (%0) -> (%1) grid [8] limits [[1, 1, 1]] schedule "none" : (memref<8xf32>) -> (memref<8xf32>)
  launch.return %1 : memref<8xf32>
}
// CHECK: error[E8002]: launch.kernel: limits is array<i64: 1, 1, 1>, expected [axis, scale, tile] with an axis below 1, scale and tile at least 1

// -----

func.func @two_limits_of_one_axis(%x: tensor<8xf32>, %n_size: tensor<si64>) -> tensor<8xf32> {
  %0 = launch.alloc input 0 : memref<8xf32>
  %n = launch.alloc input 1 : memref<si64>
  %1 = launch.alloc output 0 : memref<8xf32>
  launch.kernel @exp within (%n, %n) (%0) -> (%1) grid [8] limits [[0, 1, 1], [0, 2, 1]] schedule "none" : (memref<8xf32>) -> (memref<8xf32>)
  launch.return %1 : memref<8xf32>
}
// CHECK: error[E8002]: launch.kernel: limits is array<i64: 0, 1, 1, 0, 2, 1>, expected one for each of 2 sizes, each along an axis of its own

// -----

func.func @a_size_that_is_no_number(%x: tensor<8xf32>, %n_size: tensor<2xsi64>) -> tensor<8xf32> {
  %0 = launch.alloc input 0 : memref<8xf32>
  %n = launch.alloc input 1 : memref<2xsi64>
  %1 = launch.alloc output 0 : memref<8xf32>
  "launch.kernel"(%n, %0, %1) <{sym_name = "exp", grid = array<i64: 8>, limits = array<i64: 0, 1, 1>, schedule = "none", operandSegmentSizes = array<i32: 0, 1, 1, 1>}> ({
  }) : (memref<2xsi64>, memref<8xf32>, memref<8xf32>) -> ()
  launch.return %1 : memref<8xf32>
}
// CHECK: error[E2001]: launch.kernel: a size is memref<2xsi64>, expected memref<si64>

// -----

func.func @a_limit_of_two_numbers(%x: tensor<8xf32>, %n_size: tensor<si64>) -> tensor<8xf32> {
  %0 = launch.alloc input 0 : memref<8xf32>
  %n = launch.alloc input 1 : memref<si64>
  %1 = launch.alloc output 0 : memref<8xf32>
  launch.kernel @exp within (%n) (%0) -> (%1) grid [8] limits [[0, 1]] schedule "none" : (memref<8xf32>) -> (memref<8xf32>)
  launch.return %1 : memref<8xf32>
}
// CHECK: error[E4000]: {{.*}}expected a list of limits, each [axis, scale, tile]

// -----

func.func @a_size_that_nothing_wrote(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = launch.alloc input 0 : memref<8xf32>
  %n = launch.alloc arena : memref<si64>
  %1 = launch.alloc output 0 : memref<8xf32>
  launch.kernel @exp within (%n) (%0) -> (%1) grid [8] limits [[0, 1, 1]] schedule "none" : (memref<8xf32>) -> (memref<8xf32>)
  launch.return %1 : memref<8xf32>
}
// CHECK: error[E9101]: launch.kernel: read 1 is memory that no op before has written
