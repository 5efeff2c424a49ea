// RUN: mind-opt %s --shape-infer --allow-unregistered-dialect --split-input-file | filecheck %s
// RUN: mind-opt %s --lower-shape-to-arith --allow-unregistered-dialect --split-input-file | filecheck %s --check-prefix=ARITH

// The shape function of a library gives the shape of an op that nobody else knows.
module attributes {shape.lib = [@torch_lib]} {
  func.func @main(%x: tensor<4x?xf32>, %w: tensor<?x8xf32>) -> (tensor<?x?xf32>, index) {
    %c1 = arith.constant 1 : index
    %0 = "torch.mm"(%x, %w) : (tensor<4x?xf32>, tensor<?x8xf32>) -> tensor<?x?xf32>
    %1 = "torch.mm"(%0, %w) : (tensor<?x?xf32>, tensor<?x8xf32>) -> tensor<?x?xf32>
    %n = tensor.dim %0, %c1 : tensor<?x?xf32>
    return %1, %n : tensor<?x?xf32>, index
  }
  shape.function_library @torch_lib {
    func @mm(%a: !shape.value_shape, %b: !shape.value_shape) -> !shape.shape {
      %sa = shape_of %a : !shape.value_shape -> !shape.shape
      %sb = shape_of %b : !shape.value_shape -> !shape.shape
      %c0 = const_size 0
      %c1 = const_size 1
      %m = get_extent %sa, %c0 : !shape.shape, !shape.size -> !shape.size
      %n = get_extent %sb, %c1 : !shape.shape, !shape.size -> !shape.size
      %r = from_extents %m, %n : !shape.size, !shape.size
      return %r : !shape.shape
    }
  } mapping {torch.mm = @mm}
}

// CHECK-LABEL: func.func @main
// CHECK: %0 = "torch.mm"(%x, %w) : (tensor<4x?xf32>, tensor<?x8xf32>) -> tensor<4x8xf32>
// CHECK: "torch.mm"({{%.+}}, %w) : (tensor<?x?xf32>, tensor<?x8xf32>) -> tensor<4x8xf32>
// CHECK: shape.function_library @torch_lib
// ARITH-LABEL: func.func @main
// ARITH: shape.function_library @torch_lib

// -----

// An op that is none of its operands' is left as it is, and so is one with another number of operands.
module attributes {shape.lib = @lib} {
  func.func @other(%x: tensor<4xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
    %0 = "test.other"(%x) : (tensor<4xf32>) -> tensor<?xf32>
    %1 = "test.same"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<?xf32>
    return %0, %1 : tensor<?xf32>, tensor<?xf32>
  }
  shape.function_library @lib {
    func @same(%a: !shape.value_shape) -> !shape.shape {
      %sa = shape_of %a : !shape.value_shape -> !shape.shape
      return %sa : !shape.shape
    }
  } mapping {test.same = @same}
}

// CHECK-LABEL: func.func @other
// CHECK: "test.other"(%x) : (tensor<4xf32>) -> tensor<?xf32>
// CHECK: "test.same"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<?xf32>
