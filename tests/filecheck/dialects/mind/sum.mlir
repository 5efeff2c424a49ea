// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

// Empty axes reduce everything to rank 0.
func.func @all(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [] keepdims = false : tensor<2x3x4xf32> -> tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @all(%x: tensor<2x3x4xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.sum %x axes = [] keepdims = false : tensor<2x3x4xf32> -> tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "all"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3x4xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.sum"(%x) <{axes = array<i64>, keepdims = false}> : (tensor<2x3x4xf32>) -> tensor<f32>

// Even with keepdims.
func.func @all_keepdims(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [] keepdims = true : tensor<2x3x4xf32> -> tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @all_keepdims(%x: tensor<2x3x4xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.sum %x axes = [] keepdims = true : tensor<2x3x4xf32> -> tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "all_keepdims"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3x4xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.sum"(%x) <{axes = array<i64>, keepdims = true}> : (tensor<2x3x4xf32>) -> tensor<f32>

func.func @one_axis(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x4xf32>
  func.return
}
// CHECK-LABEL: func.func @one_axis(%x: tensor<2x3x4xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.sum %x axes = [1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "one_axis"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3x4xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.sum"(%x) <{axes = array<i64: 1>, keepdims = false}> : (tensor<2x3x4xf32>) -> tensor<2x4xf32>

func.func @keepdims(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [1] keepdims = true : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
  func.return
}
// CHECK-LABEL: func.func @keepdims(%x: tensor<2x3x4xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.sum %x axes = [1] keepdims = true : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "keepdims"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3x4xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.sum"(%x) <{axes = array<i64: 1>, keepdims = true}> : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>

func.func @unsorted_axes(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [2, 0] keepdims = false : tensor<2x3x4xf32> -> tensor<3xf32>
  func.return
}
// CHECK-LABEL: func.func @unsorted_axes(%x: tensor<2x3x4xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.sum %x axes = [2, 0] keepdims = false : tensor<2x3x4xf32> -> tensor<3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "unsorted_axes"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3x4xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.sum"(%x) <{axes = array<i64: 2, 0>, keepdims = false}> : (tensor<2x3x4xf32>) -> tensor<3xf32>

func.func @integers(%x: tensor<2x3xi64>) {
  %0 = mind.sum %x axes = [0] keepdims = false : tensor<2x3xi64> -> tensor<3xi64>
  func.return
}
// CHECK-LABEL: func.func @integers(%x: tensor<2x3xi64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.sum %x axes = [0] keepdims = false : tensor<2x3xi64> -> tensor<3xi64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "integers"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xi64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.sum"(%x) <{axes = array<i64: 0>, keepdims = false}> : (tensor<2x3xi64>) -> tensor<3xi64>

// core-v1.1 counts axes from the end.
func.func @negative_axis(%x: tensor<2x3x4xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.sum %x axes = [-1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x3xf32>
  func.return
}
// CHECK-LABEL: func.func @negative_axis(%x: tensor<2x3x4xf32>) attributes {mind.profile = "core-v1.1"} {
// CHECK-NEXT:    [[R0:%\w+]] = mind.sum %x axes = [-1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "negative_axis"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3x4xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.sum"(%x) <{axes = array<i64: -1>, keepdims = false}> : (tensor<2x3x4xf32>) -> tensor<2x3xf32>

// A sum of nothing is 0.
func.func @empty(%x: tensor<4xf32>) {
  %e = mind.slice %x starts = [1] ends = [1] steps = [1] : tensor<4xf32> -> tensor<0xf32>
  %0 = mind.sum %e axes = [] keepdims = false : tensor<0xf32> -> tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @empty(%x: tensor<4xf32>) {
// CHECK-NEXT:    [[E:%\w+]] = mind.slice %x starts = [1] ends = [1] steps = [1] : tensor<4xf32> -> tensor<0xf32>
// CHECK-NEXT:    [[R0:%\w+]] = mind.sum [[E]] axes = [] keepdims = false : tensor<0xf32> -> tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "empty"
// GENERIC-NEXT: ^bb0(%x: tensor<4xf32>):
// GENERIC-NEXT:    [[E:%\w+]] = "mind.slice"(%x) <{starts = array<i64: 1>, ends = array<i64: 1>, steps = array<i64: 1>}> : (tensor<4xf32>) -> tensor<0xf32>
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.sum"([[E]]) <{axes = array<i64>, keepdims = false}> : (tensor<0xf32>) -> tensor<f32>
