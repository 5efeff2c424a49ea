// RUN: mind-opt %s --ptir-product-epilogues | filecheck %s
// RUN: mind-opt %s --ptir-product-epilogues | mind-opt --verify-diagnostics | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  // A bias before a view that a kernel of products reads. It is rounded to the dtype of the operands, the product is not.
  func.func @bias(%x: tensor<4x16xbf16>, %w: tensor<16x8xbf16>, %b: tensor<8xf32>) -> tensor<2x2x8xbf16> {
    %p = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
    %wide = ptir.cast %p dtype = f32 : tensor<4x8xbf16> -> tensor<4x8xf32>
    %rows = ptir.broadcast_to %b result_shape = [4, 8] : tensor<8xf32> -> tensor<4x8xf32>
    %sum = ptir.add %wide, %rows : tensor<4x8xf32>
    %narrow = ptir.cast %sum dtype = bf16 : tensor<4x8xf32> -> tensor<4x8xbf16>
    %r = ptir.reshape %narrow new_shape = [2, 2, 8] : tensor<4x8xbf16> -> tensor<2x2x8xbf16>
    func.return %r : tensor<2x2x8xbf16>
  }
  // CHECK-LABEL: func.func @bias
  // CHECK-NEXT: [[B:%[^ ]+]] = ptir.cast %b dtype = bf16 : tensor<8xf32> -> tensor<8xbf16>
  // CHECK-NEXT: [[R:%[^ ]+]] = ptir.fusion %x, %w, [[B]] pattern = product_epilogue : (tensor<4x16xbf16>, tensor<16x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16> body {
  // CHECK:        ptir.dot_general {{.*}} out_dtype = f32
  // CHECK:        ptir.add
  // CHECK-NEXT:   ptir.cast {{.*}} dtype = bf16
  // CHECK-NEXT:   ptir.yield
  // CHECK:      ptir.reshape [[R]]

  // A kernel computes an activation anyway, and adds the bias as well.
  func.func @relu(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
    %p = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %rows = ptir.broadcast_to %b result_shape = [4, 8] : tensor<8xf32> -> tensor<4x8xf32>
    %sum = ptir.add %p, %rows : tensor<4x8xf32>
    %zero = ptir.constant fill 0.0 : tensor<4x8xf32>
    %r = ptir.maximum %sum, %zero : tensor<4x8xf32>
    func.return %r : tensor<4x8xf32>
  }
  // CHECK-LABEL: func.func @relu
  // CHECK-NOT: product_epilogue

  // GELU, whose sum before it is kept for the gradient. Both are one product each, the second with the gradient of the bias.
  func.func @gelu(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %b: tensor<8xf32>, %g: tensor<4x16xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) {
    %p = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %rows = ptir.broadcast_to %b result_shape = [4, 8] : tensor<8xf32> -> tensor<4x8xf32>
    %s = ptir.add %p, %rows : tensor<4x8xf32>
    %half = ptir.constant fill 0.5 : tensor<4x8xf32>
    %one = ptir.constant fill 1.0 : tensor<4x8xf32>
    %cubic = ptir.constant fill 0.044715 : tensor<4x8xf32>
    %scale = ptir.constant fill 0.7978846 : tensor<4x8xf32>
    %s2 = ptir.mul %s, %s : tensor<4x8xf32>
    %s3 = ptir.mul %s2, %s : tensor<4x8xf32>
    %c3 = ptir.mul %s3, %cubic : tensor<4x8xf32>
    %inner = ptir.add %s, %c3 : tensor<4x8xf32>
    %scaled = ptir.mul %inner, %scale : tensor<4x8xf32>
    %t = ptir.tanh %scaled : tensor<4x8xf32>
    %t1 = ptir.add %t, %one : tensor<4x8xf32>
    %h = ptir.mul %s, %half : tensor<4x8xf32>
    %y = ptir.mul %h, %t1 : tensor<4x8xf32>
    // The derivative, in another order: g (t1 / 2 + h (1 - t t) scale (1 + 3 cubic s s)).
    %d = ptir.dot_general %g, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %tt = ptir.mul %t, %t : tensor<4x8xf32>
    %rest = ptir.sub %one, %tt : tensor<4x8xf32>
    %three = ptir.constant fill 0.134145 : tensor<4x8xf32>
    %slope = ptir.mul %s2, %three : tensor<4x8xf32>
    %slope1 = ptir.add %slope, %one : tensor<4x8xf32>
    %slope2 = ptir.mul %slope1, %scale : tensor<4x8xf32>
    %a = ptir.mul %h, %rest : tensor<4x8xf32>
    %a2 = ptir.mul %a, %slope2 : tensor<4x8xf32>
    %t2 = ptir.mul %t1, %half : tensor<4x8xf32>
    %derivative = ptir.add %t2, %a2 : tensor<4x8xf32>
    %dx = ptir.mul %d, %derivative : tensor<4x8xf32>
    %db = ptir.reduce %dx kind = sum axes = [0] keepdims = false : tensor<4x8xf32> -> tensor<8xf32>
    func.return %y, %dx, %db : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>
  }
  // CHECK-LABEL: func.func @gelu
  // CHECK-NEXT: [[Y:%[^ ]+]], [[S:%[^ ]+]] = ptir.fusion %x, %w, %b pattern = product_epilogue : {{.*}} -> (tensor<4x8xf32>, tensor<4x8xf32>) body {
  // CHECK:      [[DX:%[^ ]+]], [[DB:%[^ ]+]] = ptir.fusion %g, %w, [[S]] pattern = product_epilogue : {{.*}} -> (tensor<4x8xf32>, tensor<8xf32>) body {
  // CHECK:      func.return [[Y]], [[DX]], [[DB]]

  // Sums over the rows of a concatenation, which no kernel has whole rows of.
  func.func @sums(%x: tensor<4x16xf32>, %q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> (tensor<16x16xf32>, tensor<16xf32>) {
    %g = ptir.concat %q, %k axis = 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
    %db = ptir.reduce %g kind = sum axes = [0] keepdims = false : tensor<4x16xf32> -> tensor<16xf32>
    %dw = ptir.dot_general %x, %g batch_lhs = [] batch_rhs = [] contract_lhs = [0] contract_rhs = [0] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<16x16xf32>
    func.return %dw, %db : tensor<16x16xf32>, tensor<16xf32>
  }
  // CHECK-LABEL: func.func @sums
  // CHECK-NEXT: [[G:%[^ ]+]] = ptir.concat
  // CHECK-NEXT: [[W:%[^ ]+]], [[B:%[^ ]+]] = ptir.fusion %x, [[G]] pattern = product_epilogue
  // CHECK:      func.return [[W]], [[B]]

  // 6 columns: rows of a matrix next to the result would not begin at multiples of 8 elements.
  func.func @narrow(%x: tensor<4x16xf32>, %w: tensor<16x6xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
    %p = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x16xf32>, tensor<16x6xf32>) -> tensor<4x6xf32>
    %rows = ptir.broadcast_to %b result_shape = [4, 6] : tensor<6xf32> -> tensor<4x6xf32>
    %sum = ptir.add %p, %rows : tensor<4x6xf32>
    func.return %sum : tensor<4x6xf32>
  }
  // CHECK-LABEL: func.func @narrow
  // CHECK-NOT: product_epilogue
}
