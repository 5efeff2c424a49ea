// RUN: mind-opt %s --resolve-shaped-type-result-dims --allow-unregistered-dialect --split-input-file | filecheck %s

// Sizes of results are arithmetic on sizes of arguments; those of arguments stay.
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @append(%x: tensor<?xf32, "P">, %y: tensor<?xf32, "T">) -> (index, index) {
    %c0 = arith.constant 0 : index
    %0 = ptir.concat %x, %y axis = 0 : (tensor<?xf32, "P">, tensor<?xf32, "T">) -> tensor<?xf32, "P+T">
    %n = tensor.dim %0, %c0 : tensor<?xf32, "P+T">
    %a = tensor.dim %x, %c0 : tensor<?xf32, "P">
    func.return %n, %a : index, index
  }
}

// CHECK-LABEL: func.func @append
// CHECK-NEXT:  %0 = arith.constant 0 : index
// CHECK-NEXT:  %1 = tensor.dim %x, %0 : tensor<?xf32, "P">
// CHECK-NEXT:  %2 = tensor.dim %y, %0 : tensor<?xf32, "T">
// CHECK-NEXT:  %n = arith.addi %1, %2 : index
// CHECK:       %a = tensor.dim %x, %c0 : tensor<?xf32, "P">
// CHECK-NEXT:  func.return %n, %a : index, index

// -----

// Unnamed dimensions too; what a result's size is known to be is a constant. Other functions' sizes are those of their results.
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @unnamed(%x: tensor<?x?xf32>, %y: tensor<?x4xf32>) -> (index, index, tensor<si64>, tensor<si64>, index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = ptir.transpose %x perm = [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
    %n = tensor.dim %0, %c0 : tensor<?x?xf32>
    %1 = ptir.tanh %y : tensor<?x4xf32>
    %m = tensor.dim %1, %c1 : tensor<?x4xf32>
    %k = ptir.dimension_size %0 axis = 1 : tensor<?x?xf32> -> tensor<si64>
    %l = ptir.dimension_size %1 axis = -1 : tensor<?x4xf32> -> tensor<si64>
    %2 = func.call @other(%x) : (tensor<?x?xf32>) -> tensor<?xf32>
    %o = tensor.dim %2, %c0 : tensor<?xf32>
    func.return %n, %m, %k, %l, %o : index, index, tensor<si64>, tensor<si64>, index
  }
  func.func private @other(%x: tensor<?x?xf32>) -> tensor<?xf32> {
    %0 = ptir.reduce %x kind = sum axes = [1] keepdims = false : tensor<?x?xf32> -> tensor<?xf32>
    func.return %0 : tensor<?xf32>
  }
}

// CHECK-LABEL: func.func @unnamed
// CHECK-NEXT:  %0 = arith.constant 1 : index
// CHECK-NEXT:  %n = tensor.dim %x, %0 : tensor<?x?xf32>
// CHECK-NEXT:  %m = arith.constant 4 : index
// CHECK:       %k = ptir.dimension_size %x axis = 0 : tensor<?x?xf32> -> tensor<si64>
// CHECK-NEXT:  %l = ptir.constant 4 : tensor<si64>
// CHECK-NEXT:  %[[C:.*]] = func.call @other(%x) : (tensor<?x?xf32>) -> tensor<?xf32>
// CHECK-NEXT:  %o = tensor.dim %[[C]], %c0 : tensor<?xf32>

// -----

// A name that only an expression has is solved for; quotients are rounded down.
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @solved(%x: tensor<?xf32, "2*B">) -> index {
    %c0 = arith.constant 0 : index
    %0 = ptir.slice %x starts = [0] sizes = ["B+1"] : tensor<?xf32, "2*B"> -> tensor<?xf32, "B+1">
    %1 = ptir.strided_slice %0 starts = [0] limits = ["B+1"] strides = [3] : tensor<?xf32, "B+1"> -> tensor<?xf32, "(B floordiv 3)+1">
    %n = tensor.dim %1, %c0 : tensor<?xf32, "(B floordiv 3)+1">
    func.return %n : index
  }
}

// CHECK-LABEL: func.func @solved
// CHECK-NEXT:  %0 = arith.constant 0 : index
// CHECK-NEXT:  %1 = tensor.dim %x, %0 : tensor<?xf32, "2*B">
// CHECK-NEXT:  %2 = arith.constant 2 : index
// CHECK-NEXT:  %3 = arith.floordivsi %1, %2 : index
// CHECK-NEXT:  %4 = arith.constant 3 : index
// CHECK-NEXT:  %5 = arith.floordivsi %3, %4 : index
// CHECK-NEXT:  %6 = arith.constant 1 : index
// CHECK-NEXT:  %n = arith.addi %5, %6 : index

// -----

// Functions of `shape.lib` give the sizes of ops of any dialect.
module attributes {shape.lib = @library} {
  shape.function_library @library {
    func @outer(%x: !shape.value_shape, %y: !shape.value_shape) -> !shape.shape {
      %0 = shape_of %x : !shape.value_shape -> !shape.shape
      %1 = shape_of %y : !shape.value_shape -> !shape.shape
      %2 = concat %0, %1 : !shape.shape, !shape.shape -> !shape.shape
      return %2 : !shape.shape
    }
  } mapping {test.outer = @outer}
  func.func @by_library(%x: tensor<?xf32>, %y: tensor<?x4xf32>) -> (index, index) {
    %c1 = arith.constant 1 : index
    %0 = "test.outer"(%x, %y) : (tensor<?xf32>, tensor<?x4xf32>) -> tensor<?x?x?xf32>
    %n = tensor.dim %0, %c1 : tensor<?x?x?xf32>
    %1 = "test.unknown"(%0) : (tensor<?x?x?xf32>) -> tensor<?xf32>
    %c0 = arith.constant 0 : index
    %m = tensor.dim %1, %c0 : tensor<?xf32>
    func.return %n, %m : index, index
  }
}

// CHECK-LABEL: func.func @by_library
// CHECK-NEXT:  %0 = arith.constant 0 : index
// CHECK-NEXT:  %n = tensor.dim %y, %0 : tensor<?x4xf32>
// CHECK:       %[[OUTER:.*]] = "test.outer"(%x, %y)
// CHECK-NEXT:  %[[R:.*]] = "test.unknown"(%[[OUTER]])
// CHECK:       %m = tensor.dim %[[R]], %c0 : tensor<?xf32>
