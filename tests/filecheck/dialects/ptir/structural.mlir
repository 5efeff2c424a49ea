// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Ops that move, repeat or number elements.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @reshape(%x: tensor<2x6xi1>) {
    %a = ptir.reshape %x new_shape = [3, 4] : tensor<2x6xi1> -> tensor<3x4xi1>
    %b = ptir.reshape %x new_shape = [3, -1, 1] : tensor<2x6xi1> -> tensor<3x4x1xi1>
    func.return
  }
  // CHECK-LABEL: func.func @reshape(%x: tensor<2x6xi1>) {
  // CHECK-NEXT:  %a = ptir.reshape %x new_shape = [3, 4] : tensor<2x6xi1> -> tensor<3x4xi1>
  // CHECK-NEXT:  %b = ptir.reshape %x new_shape = [3, -1, 1] : tensor<2x6xi1> -> tensor<3x4x1xi1>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "reshape"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x6xi1>):
  // GENERIC-NEXT:  %a = "ptir.reshape"(%x) <{new_shape = array<i64: 3, 4>}> : (tensor<2x6xi1>) -> tensor<3x4xi1>
  // GENERIC-NEXT:  %b = "ptir.reshape"(%x) <{new_shape = array<i64: 3, -1, 1>}> : (tensor<2x6xi1>) -> tensor<3x4x1xi1>

  func.func @transpose(%x: tensor<2x3x4xf8E4M3FN>) {
    %a = ptir.transpose %x perm = [2, 0, 1] : tensor<2x3x4xf8E4M3FN> -> tensor<4x2x3xf8E4M3FN>
    %b = ptir.transpose %x perm = [-1, 0, 1] : tensor<2x3x4xf8E4M3FN> -> tensor<4x2x3xf8E4M3FN>
    func.return
  }
  // CHECK-LABEL: func.func @transpose(%x: tensor<2x3x4xf8E4M3FN>) {
  // CHECK-NEXT:  %a = ptir.transpose %x perm = [2, 0, 1] : tensor<2x3x4xf8E4M3FN> -> tensor<4x2x3xf8E4M3FN>
  // CHECK-NEXT:  %b = ptir.transpose %x perm = [-1, 0, 1] : tensor<2x3x4xf8E4M3FN> -> tensor<4x2x3xf8E4M3FN>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "transpose"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3x4xf8E4M3FN>):
  // GENERIC-NEXT:  %a = "ptir.transpose"(%x) <{perm = array<i64: 2, 0, 1>}> : (tensor<2x3x4xf8E4M3FN>) -> tensor<4x2x3xf8E4M3FN>
  // GENERIC-NEXT:  %b = "ptir.transpose"(%x) <{perm = array<i64: -1, 0, 1>}> : (tensor<2x3x4xf8E4M3FN>) -> tensor<4x2x3xf8E4M3FN>

  // Only an axis of size 1 stretches, also to nothing.
  func.func @broadcast_to(%x: tensor<3x1xsi16>, %s: tensor<f32>) {
    %a = ptir.broadcast_to %x result_shape = [2, 3, 4] : tensor<3x1xsi16> -> tensor<2x3x4xsi16>
    %b = ptir.broadcast_to %x result_shape = [3, 0] : tensor<3x1xsi16> -> tensor<3x0xsi16>
    %c = ptir.broadcast_to %s result_shape = [] : tensor<f32>
    func.return
  }
  // CHECK-LABEL: func.func @broadcast_to(%x: tensor<3x1xsi16>, %s: tensor<f32>) {
  // CHECK-NEXT:  %a = ptir.broadcast_to %x result_shape = [2, 3, 4] : tensor<3x1xsi16> -> tensor<2x3x4xsi16>
  // CHECK-NEXT:  %b = ptir.broadcast_to %x result_shape = [3, 0] : tensor<3x1xsi16> -> tensor<3x0xsi16>
  // CHECK-NEXT:  %c = ptir.broadcast_to %s result_shape = [] : tensor<f32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "broadcast_to"
  // GENERIC-NEXT:  ^bb0(%x: tensor<3x1xsi16>, %s: tensor<f32>):
  // GENERIC-NEXT:  %a = "ptir.broadcast_to"(%x) <{result_shape = array<i64: 2, 3, 4>}> : (tensor<3x1xsi16>) -> tensor<2x3x4xsi16>
  // GENERIC-NEXT:  %b = "ptir.broadcast_to"(%x) <{result_shape = array<i64: 3, 0>}> : (tensor<3x1xsi16>) -> tensor<3x0xsi16>
  // GENERIC-NEXT:  %c = "ptir.broadcast_to"(%s) <{result_shape = array<i64>}> : (tensor<f32>) -> tensor<f32>

  func.func @slice(%x: tensor<4x5xf32>) {
    %a = ptir.slice %x starts = [1, 0] sizes = [3, 2] : tensor<4x5xf32> -> tensor<3x2xf32>
    func.return
  }
  // CHECK-LABEL: func.func @slice(%x: tensor<4x5xf32>) {
  // CHECK-NEXT:  %a = ptir.slice %x starts = [1, 0] sizes = [3, 2] : tensor<4x5xf32> -> tensor<3x2xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "slice"
  // GENERIC-NEXT:  ^bb0(%x: tensor<4x5xf32>):
  // GENERIC-NEXT:  %a = "ptir.slice"(%x) <{starts = array<i64: 1, 0>, sizes = array<i64: 3, 2>}> : (tensor<4x5xf32>) -> tensor<3x2xf32>

  func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) {
    %a = ptir.concat %x, %y, %x axis = -1 : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
    %b = ptir.concat %x axis = 0 : tensor<2x3xf32>
    func.return
  }
  // CHECK-LABEL: func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) {
  // CHECK-NEXT:  %a = ptir.concat %x, %y, %x axis = -1 : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  // CHECK-NEXT:  %b = ptir.concat %x axis = 0 : tensor<2x3xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "concat"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>):
  // GENERIC-NEXT:  %a = "ptir.concat"(%x, %y, %x) <{axis = -1 : i64}> : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  // GENERIC-NEXT:  %b = "ptir.concat"(%x) <{axis = 0 : i64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>

  func.func @pad(%x: tensor<3x2xsi8>) {
    %a = ptir.pad %x low = [1, 0] high = [0, 2] interior = [2, 0] pad_value = -3 : si8 : tensor<3x2xsi8> -> tensor<8x4xsi8>
    func.return
  }
  // CHECK-LABEL: func.func @pad(%x: tensor<3x2xsi8>) {
  // CHECK-NEXT:  %a = ptir.pad %x low = [1, 0] high = [0, 2] interior = [2, 0] pad_value = -3 : si8 : tensor<3x2xsi8> -> tensor<8x4xsi8>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "pad"
  // GENERIC-NEXT:  ^bb0(%x: tensor<3x2xsi8>):
  // GENERIC-NEXT:  %a = "ptir.pad"(%x) <{low = array<i64: 1, 0>, high = array<i64: 0, 2>, interior = array<i64: 2, 0>, pad_value = #ptir.literal<-3 : tensor<si8>>}> : (tensor<3x2xsi8>) -> tensor<8x4xsi8>

  func.func @tile(%x: tensor<2x3xcomplex<f32>>) {
    %a = ptir.tile %x repeats = [3, 1] : tensor<2x3xcomplex<f32>> -> tensor<6x3xcomplex<f32>>
    func.return
  }
  // CHECK-LABEL: func.func @tile(%x: tensor<2x3xcomplex<f32>>) {
  // CHECK-NEXT:  %a = ptir.tile %x repeats = [3, 1] : tensor<2x3xcomplex<f32>> -> tensor<6x3xcomplex<f32>>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "tile"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xcomplex<f32>>):
  // GENERIC-NEXT:  %a = "ptir.tile"(%x) <{repeats = array<i64: 3, 1>}> : (tensor<2x3xcomplex<f32>>) -> tensor<6x3xcomplex<f32>>

  func.func @iota() {
    %a = ptir.iota shape = [2, 3] dtype = si64 axis = 1 : tensor<2x3xsi64>
    %b = ptir.iota shape = [4] dtype = f8E5M2 axis = -1 : tensor<4xf8E5M2>
    func.return
  }
  // CHECK-LABEL: func.func @iota() {
  // CHECK-NEXT:  %a = ptir.iota shape = [2, 3] dtype = si64 axis = 1 : tensor<2x3xsi64>
  // CHECK-NEXT:  %b = ptir.iota shape = [4] dtype = f8E5M2 axis = -1 : tensor<4xf8E5M2>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "iota"
  // GENERIC-NEXT:  %a = "ptir.iota"() <{shape = array<i64: 2, 3>, dtype = si64, axis = 1 : i64}> : () -> tensor<2x3xsi64>
  // GENERIC-NEXT:  %b = "ptir.iota"() <{shape = array<i64: 4>, dtype = f8E5M2, axis = -1 : i64}> : () -> tensor<4xf8E5M2>
}
