// RUN: mind-opt %s --shape-infer=bind=B=3 | filecheck %s
// RUN: mind-opt %s -p 'shape-infer{bind="B=3"}' | filecheck %s
// RUN: xdsl-opt %s -p 'mind-shape-infer{bind="B=3"}' | filecheck %s
// RUN: mind-opt %s --shape-infer=bind=B=3,T=5 | filecheck %s --check-prefix=BOTH

module attributes {ptir.spec_version = "ptir.v0.4"} {
// The size stands in types and properties, and in what follows from them; the other name stays.
// CHECK-LABEL: func.func @program
// CHECK-SAME: (%x: tensor<3x?xf32, "*,T">) -> tensor<?x6xf32, "T,*"> {
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = ptir.broadcast_to %x result_shape = [3, T] : tensor<3x?xf32, "*,T">
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = ptir.transpose %[[A]] perm = [1, 0] : tensor<3x?xf32, "*,T"> -> tensor<?x3xf32, "T,*">
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = ptir.concat %[[B]], %[[B]] axis = 1 : (tensor<?x3xf32, "T,*">, tensor<?x3xf32, "T,*">) -> tensor<?x6xf32, "T,*">
// CHECK-NEXT: func.return %[[C]] : tensor<?x6xf32, "T,*">
// BOTH-LABEL: func.func @program
// BOTH-SAME: (%x: tensor<3x5xf32>) -> tensor<5x6xf32> {
func.func @program(%x: tensor<?x?xf32, "B,T">) -> tensor<?x?xf32, "T,*"> {
  %a = ptir.broadcast_to %x result_shape = [B, T] : tensor<?x?xf32, "B,T">
  %b = ptir.transpose %a perm = [1, 0] : tensor<?x?xf32, "B,T"> -> tensor<?x?xf32, "T,B">
  %c = ptir.concat %b, %b axis = 1 : (tensor<?x?xf32, "T,B">, tensor<?x?xf32, "T,B">) -> tensor<?x?xf32, "T,*">
  func.return %c : tensor<?x?xf32, "T,*">
}

// Shape ops see it too.
// CHECK-LABEL: func.func @shapes
// CHECK-SAME: (%x: tensor<3x4xf32>) -> !shape.size {
// CHECK-NEXT: %[[N:[a-z0-9_]+]] = shape.const_size 12
// CHECK-NEXT: func.return %[[N]] : !shape.size
func.func @shapes(%x: tensor<?x4xf32, "B,*">) -> !shape.size {
  %a = shape.shape_of %x : tensor<?x4xf32, "B,*"> -> !shape.shape
  %n = shape.num_elements %a : !shape.shape -> !shape.size
  func.return %n : !shape.size
}
}
