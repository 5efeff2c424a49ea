// RUN: mind-opt %s --lower-to-cupy | filecheck %s
// RUN: mind-opt %s --lower-to-cupy | mind-opt | filecheck %s
// RUN: mind-opt %s -t cupy | filecheck %s --check-prefix=TEXT
// RUN: mind-opt %s --lower-to-cupy | mind-opt -t cupy | filecheck %s --check-prefix=TEXT

module attributes {ptir.spec_version = "ptir.v0.4"} {
// The product is the array library's, the rest one kernel; its bias is read by index, not stored as a matrix.
func.func @layer(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %p = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
    : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %c = ptir.broadcast_to %b result_shape = [4, 16] : tensor<16xf32> -> tensor<4x16xf32>
  %s = ptir.add %p, %c : tensor<4x16xf32>
  %y = ptir.tanh %s : tensor<4x16xf32>
  func.return %y : tensor<4x16xf32>
}

// Integers divided by integers: the launch takes a record of failures.
func.func @"x); system(\22"(%a: tensor<5xsi32>, %b: tensor<5xsi32>) -> tensor<5xsi32> {
  %q = ptir.div %a, %b : tensor<5xsi32>
  func.return %q : tensor<5xsi32>
}

// Rows by index are part of the kernel that uses them.
func.func @rows(%t: tensor<9x8xf32>, %i: tensor<4xsi32>) -> tensor<4x8xf32> {
  %r = ptir.take %t, %i : (tensor<9x8xf32>, tensor<4xsi32>) -> tensor<4x8xf32>
  %y = ptir.exp %r : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// A scatter works in the memory of what dies there, here a copy.
func.func @scatter(%x: tensor<9xf32>, %i: tensor<4xsi32>, %u: tensor<4xf32>) -> tensor<9xf32> {
  %y = ptir.scatter_reduce %x, %i, %u kind = add axis = 0 : (tensor<9xf32>, tensor<4xsi32>, tensor<4xf32>) -> tensor<9xf32>
  func.return %y : tensor<9xf32>
}
}

// CHECK-LABEL: func.func @layer
// CHECK:         %p = xp.call "xp.matmul"(%x, %w)
// CHECK-NEXT:    %y = ptir.fusion %b, %p : (tensor<16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32> body {
// CHECK:           ptir.broadcast_to
// CHECK:           ptir.add
// CHECK:           ptir.tanh
// CHECK:         }
// CHECK-NEXT:    xp.free %p : tensor<4x16xf32>
// CHECK-NEXT:    xp.return %y : tensor<4x16xf32>

// CHECK-LABEL: func.func @rows
// CHECK-NEXT:    %y = ptir.fusion %t, %i : (tensor<9x8xf32>, tensor<4xsi32>) -> tensor<4x8xf32> body {
// CHECK:           %r = ptir.take
// CHECK-NEXT:      %y_1 = ptir.exp %r
// CHECK:         }
// CHECK-NEXT:    xp.return %y : tensor<4x8xf32>

// CHECK-LABEL: func.func @scatter
// CHECK-NEXT:    %0 = xp.call "k.copy"(%x)
// CHECK-NEXT:    %y = ptir.fusion %0, %i, %u

// TEXT:      k = device()
// TEXT:      layer_k1 = k.module(r"""
// TEXT-NEXT: extern "C" __global__ void __launch_bounds__(256) layer_k0_add_tanh(const float* __restrict__ a0, const float* __restrict__ a1, float* __restrict__ b0)
// TEXT:          const I i1 = i % 16;
// TEXT-NEXT:     const float x2 = a0[i1];
// TEXT-NEXT:     const float x3 = a1_[j];
// TEXT-NEXT:     const float v4 = mind::add(x3, x2);
// TEXT-NEXT:     const float v5 = mind::tanh(v4);
// TEXT-NEXT:     b0_[j] = v5;
// TEXT:      layer_k0 = layer_k1.kernel('layer_k0_add_tanh', outputs=[((4, 16), xp.float32)], grid=1, block=256)
// TEXT:      def layer(x, w, b):
// TEXT:          v3 = xp.matmul(x, w)  # f32[4, 16]
// TEXT-NEXT:     v4 = k.launch(layer_k0, b, v3)  # f32[4, 16]
// TEXT-NEXT:     del v3
// TEXT-NEXT:     return v4
// TEXT:      x___system___k0_div(const mind::si32* __restrict__ a0, const mind::si32* __restrict__ a1, mind::si32* __restrict__ b0, mind::ui64* record)
// TEXT:          mind::fail(record, 0,
// TEXT:      fails=[('division', (), 0, 1, '')])
// TEXT:      def x___system__(a, b):
// TEXT-NEXT:     # @'x); system("'
