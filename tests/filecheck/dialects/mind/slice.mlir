// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @steps(%x: tensor<4x6xf32>) {
  %0 = mind.slice %x starts = [1, 0] ends = [4, 6] steps = [2, 4] : tensor<4x6xf32> -> tensor<2x2xf32>
  func.return
}
// CHECK-LABEL: func.func @steps(%x: tensor<4x6xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.slice %x starts = [1, 0] ends = [4, 6] steps = [2, 4] : tensor<4x6xf32> -> tensor<2x2xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "steps"
// GENERIC-NEXT: ^bb0(%x: tensor<4x6xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.slice"(%x) <{starts = array<i64: 1, 0>, ends = array<i64: 4, 6>, steps = array<i64: 2, 4>}> : (tensor<4x6xf32>) -> tensor<2x2xf32>

func.func @whole(%x: tensor<4x6xf32>) {
  %0 = mind.slice %x starts = [0, 0] ends = [4, 6] steps = [1, 1] : tensor<4x6xf32>
  func.return
}
// CHECK-LABEL: func.func @whole(%x: tensor<4x6xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.slice %x starts = [0, 0] ends = [4, 6] steps = [1, 1] : tensor<4x6xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "whole"
// GENERIC-NEXT: ^bb0(%x: tensor<4x6xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.slice"(%x) <{starts = array<i64: 0, 0>, ends = array<i64: 4, 6>, steps = array<i64: 1, 1>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>

// An end below the start leaves an extent of 0.
func.func @empty(%x: tensor<4x6xf32>) {
  %0 = mind.slice %x starts = [3, 0] ends = [1, 6] steps = [1, 1] : tensor<4x6xf32> -> tensor<0x6xf32>
  func.return
}
// CHECK-LABEL: func.func @empty(%x: tensor<4x6xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.slice %x starts = [3, 0] ends = [1, 6] steps = [1, 1] : tensor<4x6xf32> -> tensor<0x6xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "empty"
// GENERIC-NEXT: ^bb0(%x: tensor<4x6xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.slice"(%x) <{starts = array<i64: 3, 0>, ends = array<i64: 1, 6>, steps = array<i64: 1, 1>}> : (tensor<4x6xf32>) -> tensor<0x6xf32>

// So does a start beyond the extent.
func.func @start_beyond(%x: tensor<4x6xf32>) {
  %0 = mind.slice %x starts = [5, 0] ends = [4, 6] steps = [1, 1] : tensor<4x6xf32> -> tensor<0x6xf32>
  func.return
}
// CHECK-LABEL: func.func @start_beyond(%x: tensor<4x6xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.slice %x starts = [5, 0] ends = [4, 6] steps = [1, 1] : tensor<4x6xf32> -> tensor<0x6xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "start_beyond"
// GENERIC-NEXT: ^bb0(%x: tensor<4x6xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.slice"(%x) <{starts = array<i64: 5, 0>, ends = array<i64: 4, 6>, steps = array<i64: 1, 1>}> : (tensor<4x6xf32>) -> tensor<0x6xf32>

func.func @rank_0(%x: tensor<i32>) {
  %0 = mind.slice %x starts = [] ends = [] steps = [] : tensor<i32>
  func.return
}
// CHECK-LABEL: func.func @rank_0(%x: tensor<i32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.slice %x starts = [] ends = [] steps = [] : tensor<i32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rank_0"
// GENERIC-NEXT: ^bb0(%x: tensor<i32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.slice"(%x) <{starts = array<i64>, ends = array<i64>, steps = array<i64>}> : (tensor<i32>) -> tensor<i32>

// core-v1.1 clamps negative bounds to 0.
func.func @clamped(%x: tensor<4x6xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.slice %x starts = [-2, 0] ends = [2, -1] steps = [1, 1] : tensor<4x6xf32> -> tensor<2x0xf32>
  func.return
}
// CHECK-LABEL: func.func @clamped(%x: tensor<4x6xf32>) attributes {mind.profile = "core-v1.1"} {
// CHECK-NEXT:    [[R0:%\w+]] = mind.slice %x starts = [-2, 0] ends = [2, -1] steps = [1, 1] : tensor<4x6xf32> -> tensor<2x0xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "clamped"
// GENERIC-NEXT: ^bb0(%x: tensor<4x6xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.slice"(%x) <{starts = array<i64: -2, 0>, ends = array<i64: 2, -1>, steps = array<i64: 1, 1>}> : (tensor<4x6xf32>) -> tensor<2x0xf32>
