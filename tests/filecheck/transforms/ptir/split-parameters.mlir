// RUN: mind-opt %s --ptir-split-parameters="function=@linear parameters=w,b" | filecheck %s
// RUN: xdsl-opt %s -p 'mind-ptir-split-parameters{function="linear" parameters="w","b"}' | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// The transpose is made once; the broadcast costs nothing and stays.
// CHECK-LABEL: func.func @linear_prepare
// CHECK-SAME:    (%[[W:.*]]: tensor<5x4xf32> {mind.name = "w"}) -> tensor<4x5xf32>
// CHECK-NEXT:    %[[T:.*]] = ptir.transpose %[[W]] perm = [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
// CHECK-NEXT:    func.return %[[T]] : tensor<4x5xf32>
// CHECK-LABEL: func.func @linear
// CHECK-SAME:    (%[[X:.*]]: tensor<3x4xf32> {mind.name = "x"}, %[[B:.*]]: tensor<5xf32> {mind.name = "b"}, %[[P:.*]]: tensor<4x5xf32> {mind.name = "prepared0", ptir.parameter})
// CHECK-SAME:    ptir.prepare = @linear_prepare
// CHECK-NEXT:    %[[D:.*]] = ptir.dot_general %[[X]], %[[P]] batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
// CHECK-NEXT:    %[[C:.*]] = ptir.broadcast_to %[[B]] result_shape = [3, 5]
// CHECK-NEXT:    %[[Y:.*]] = ptir.add %[[D]], %[[C]] : tensor<3x5xf32>
// CHECK-NEXT:    func.return %[[Y]] : tensor<3x5xf32>
func.func @linear(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>, %b: tensor<5xf32>) -> tensor<3x5xf32> {
  %t = ptir.transpose %w perm = [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
  %d = ptir.dot_general %x, %t batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %c = ptir.broadcast_to %b result_shape = [3, 5] : tensor<5xf32> -> tensor<3x5xf32>
  %y = ptir.add %d, %c : tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}

}
