// RUN: mind-opt %s --mask-padding | filecheck %s
// RUN: xdsl-opt %s -p mind-mask-padding | filecheck %s
// RUN: mind-opt %s --mask-padding --shape-infer=bind=T=8 | filecheck %s --check-prefix=BOUND

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  // CHECK: func.func @softmax(%x: tensor<2x?xf32, "*,T">, %T_size: tensor<si64>) -> tensor<2x?xf32, "*,T"> attributes {mind.extents = [array<i64: -1, 1>]}
  // CHECK: %[[INDEX:.*]] = ptir.iota shape = [2, T] dtype = si64 axis = 1
  // CHECK: %[[SIZE:.*]] = ptir.broadcast_to %T_size result_shape = [2, T]
  // CHECK: %[[WITHIN:.*]] = ptir.compare %[[INDEX]], %[[SIZE]] kind = less
  // CHECK: ptir.constant -inf
  // CHECK: ptir.select %[[WITHIN]], %x,
  // CHECK: ptir.reduce {{.*}} kind = max
  // The tails of the exponentials are 0: their sum needs no mask.
  // CHECK-NOT: ptir.select
  // BOUND: func.func @softmax(%x: tensor<2x8xf32>, %T_size: tensor<si64>) -> tensor<2x8xf32> attributes {mind.extents = [array<i64: -1, 1>]}
  func.func @softmax(%x: tensor<2x?xf32, "*,T">) -> tensor<2x?xf32, "*,T"> {
    %m = ptir.reduce %x kind = max axes = [1] keepdims = true : tensor<2x?xf32, "*,T"> -> tensor<2x1xf32>
    %b = ptir.broadcast_to %m result_shape = [2, T] : tensor<2x1xf32> -> tensor<2x?xf32, "*,T">
    %d = ptir.sub %x, %b : tensor<2x?xf32, "*,T">
    %e = ptir.exp %d : tensor<2x?xf32, "*,T">
    %s = ptir.reduce %e kind = sum axes = [1] keepdims = true : tensor<2x?xf32, "*,T"> -> tensor<2x1xf32>
    %c = ptir.broadcast_to %s result_shape = [2, T] : tensor<2x1xf32> -> tensor<2x?xf32, "*,T">
    %y = ptir.div %e, %c : tensor<2x?xf32, "*,T">
    func.return %y : tensor<2x?xf32, "*,T">
  }
}
