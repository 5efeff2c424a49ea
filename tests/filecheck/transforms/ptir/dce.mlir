// RUN: mind-opt %s --ptir-dce | filecheck %s
// RUN: xdsl-opt %s -p mind-ptir-dce | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// Dead code goes, an unused input and a random op stay.
// CHECK-LABEL: func.func @dead_code
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %unused: tensor<4xf32>)
// CHECK-NEXT:    %{{.*}} = ptir.rng_normal shape = [4] dtype = f32
// CHECK-NEXT:    %[[Y:.*]] = ptir.exp %[[X]] : tensor<4xf32>
// CHECK-NEXT:    func.return %[[Y]] : tensor<4xf32>
func.func @dead_code(%x: tensor<4xf32>, %unused: tensor<4xf32>) -> tensor<4xf32> {
  %dead = ptir.neg %x : tensor<4xf32>
  %dead_too = ptir.log %dead : tensor<4xf32>
  %draw = ptir.rng_normal shape = [4] dtype = f32 : () -> tensor<4xf32>
  %y = ptir.exp %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

}
