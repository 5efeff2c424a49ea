// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Ops that take many elements to one. Accumulator and result dtype are written only where they are stated.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @reduce(%x: tensor<2x3x4xf32>) {
    %a = ptir.reduce %x kind = sum axes = [1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x4xf32>
    %b = ptir.reduce %x kind = max axes = [0, 2] keepdims = true : tensor<2x3x4xf32> -> tensor<1x3x1xf32>
    %c = ptir.reduce %x kind = min axes = [2, 0, 1] keepdims = false : tensor<2x3x4xf32> -> tensor<f32>
    func.return
  }
  // CHECK-LABEL: func.func @reduce(%x: tensor<2x3x4xf32>) {
  // CHECK-NEXT:  %a = ptir.reduce %x kind = sum axes = [1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x4xf32>
  // CHECK-NEXT:  %b = ptir.reduce %x kind = max axes = [0, 2] keepdims = true : tensor<2x3x4xf32> -> tensor<1x3x1xf32>
  // CHECK-NEXT:  %c = ptir.reduce %x kind = min axes = [2, 0, 1] keepdims = false : tensor<2x3x4xf32> -> tensor<f32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "reduce"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3x4xf32>):
  // GENERIC-NEXT:  %a = "ptir.reduce"(%x) <{kind = "sum", axes = array<i64: 1>, keepdims = false}> : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  // GENERIC-NEXT:  %b = "ptir.reduce"(%x) <{kind = "max", axes = array<i64: 0, 2>, keepdims = true}> : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  // GENERIC-NEXT:  %c = "ptir.reduce"(%x) <{kind = "min", axes = array<i64: 2, 0, 1>, keepdims = false}> : (tensor<2x3x4xf32>) -> tensor<f32>

  // Negative axes count from the end. No axes, no change.
  func.func @axes(%x: tensor<2x3xsi32>) {
    %a = ptir.reduce %x kind = sum axes = [-1] keepdims = false : tensor<2x3xsi32> -> tensor<2xsi32>
    %b = ptir.reduce %x kind = sum axes = [] keepdims = false : tensor<2x3xsi32>
    func.return
  }
  // CHECK-LABEL: func.func @axes(%x: tensor<2x3xsi32>) {
  // CHECK-NEXT:  %a = ptir.reduce %x kind = sum axes = [-1] keepdims = false : tensor<2x3xsi32> -> tensor<2xsi32>
  // CHECK-NEXT:  %b = ptir.reduce %x kind = sum axes = [] keepdims = false : tensor<2x3xsi32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "axes"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xsi32>):
  // GENERIC-NEXT:  %a = "ptir.reduce"(%x) <{kind = "sum", axes = array<i64: -1>, keepdims = false}> : (tensor<2x3xsi32>) -> tensor<2xsi32>
  // GENERIC-NEXT:  %b = "ptir.reduce"(%x) <{kind = "sum", axes = array<i64>, keepdims = false}> : (tensor<2x3xsi32>) -> tensor<2x3xsi32>

  func.func @dtypes(%x: tensor<2x3xbf16>, %i: tensor<2x3xui8>, %p: tensor<2x3xi1>) {
    %a = ptir.reduce %x kind = sum axes = [1] keepdims = false accum_dtype = f32 out_dtype = f32 : tensor<2x3xbf16> -> tensor<2xf32>
    %b = ptir.reduce %i kind = sum axes = [1] keepdims = false accum_dtype = si64 : tensor<2x3xui8> -> tensor<2xui8>
    %c = ptir.reduce %p kind = max axes = [1] keepdims = false : tensor<2x3xi1> -> tensor<2xi1>
    func.return
  }
  // CHECK-LABEL: func.func @dtypes(%x: tensor<2x3xbf16>, %i: tensor<2x3xui8>, %p: tensor<2x3xi1>) {
  // CHECK-NEXT:  %a = ptir.reduce %x kind = sum axes = [1] keepdims = false accum_dtype = f32 out_dtype = f32 : tensor<2x3xbf16> -> tensor<2xf32>
  // CHECK-NEXT:  %b = ptir.reduce %i kind = sum axes = [1] keepdims = false accum_dtype = si64 : tensor<2x3xui8> -> tensor<2xui8>
  // CHECK-NEXT:  %c = ptir.reduce %p kind = max axes = [1] keepdims = false : tensor<2x3xi1> -> tensor<2xi1>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "dtypes"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xbf16>, %i: tensor<2x3xui8>, %p: tensor<2x3xi1>):
  // GENERIC-NEXT:  %a = "ptir.reduce"(%x) <{kind = "sum", axes = array<i64: 1>, keepdims = false, accum_dtype = f32, out_dtype = f32}> : (tensor<2x3xbf16>) -> tensor<2xf32>
  // GENERIC-NEXT:  %b = "ptir.reduce"(%i) <{kind = "sum", axes = array<i64: 1>, keepdims = false, accum_dtype = si64}> : (tensor<2x3xui8>) -> tensor<2xui8>
  // GENERIC-NEXT:  %c = "ptir.reduce"(%p) <{kind = "max", axes = array<i64: 1>, keepdims = false}> : (tensor<2x3xi1>) -> tensor<2xi1>

  // Nothing to reduce: an identity of the kind.
  func.func @empty(%x: tensor<2x0xf32>) {
    %a = ptir.reduce %x kind = max axes = [1] keepdims = false : tensor<2x0xf32> -> tensor<2xf32>
    func.return
  }
  // CHECK-LABEL: func.func @empty(%x: tensor<2x0xf32>) {
  // CHECK-NEXT:  %a = ptir.reduce %x kind = max axes = [1] keepdims = false : tensor<2x0xf32> -> tensor<2xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "empty"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x0xf32>):
  // GENERIC-NEXT:  %a = "ptir.reduce"(%x) <{kind = "max", axes = array<i64: 1>, keepdims = false}> : (tensor<2x0xf32>) -> tensor<2xf32>

  func.func @arg_max(%x: tensor<2x3xf16>) {
    %a = ptir.arg_max %x axis = -1 keepdims = false output_dtype = si32 : tensor<2x3xf16> -> tensor<2xsi32>
    %b = ptir.arg_max %x axis = 0 keepdims = true output_dtype = si64 : tensor<2x3xf16> -> tensor<1x3xsi64>
    func.return
  }
  // CHECK-LABEL: func.func @arg_max(%x: tensor<2x3xf16>) {
  // CHECK-NEXT:  %a = ptir.arg_max %x axis = -1 keepdims = false output_dtype = si32 : tensor<2x3xf16> -> tensor<2xsi32>
  // CHECK-NEXT:  %b = ptir.arg_max %x axis = 0 keepdims = true output_dtype = si64 : tensor<2x3xf16> -> tensor<1x3xsi64>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "arg_max"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xf16>):
  // GENERIC-NEXT:  %a = "ptir.arg_max"(%x) <{axis = -1 : i64, keepdims = false, output_dtype = si32}> : (tensor<2x3xf16>) -> tensor<2xsi32>
  // GENERIC-NEXT:  %b = "ptir.arg_max"(%x) <{axis = 0 : i64, keepdims = true, output_dtype = si64}> : (tensor<2x3xf16>) -> tensor<1x3xsi64>

  func.func @dot_general(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
    %a = ptir.dot_general %x, %y batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    func.return
  }
  // CHECK-LABEL: func.func @dot_general(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // CHECK-NEXT:  %a = ptir.dot_general %x, %y batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "dot_general"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>):
  // GENERIC-NEXT:  %a = "ptir.dot_general"(%x, %y) <{batch_lhs = array<i64>, batch_rhs = array<i64>, contract_lhs = array<i64: 1>, contract_rhs = array<i64: 0>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>

  // Batch dimensions come first, in the order listed.
  func.func @batches(%x: tensor<5x6x2xf16>, %y: tensor<6x5x3xf16>) {
    %a = ptir.dot_general %x, %y batch_lhs = [1, 0] batch_rhs = [0, 1] contract_lhs = [] contract_rhs = [] accum_dtype = f32 out_dtype = bf16 : (tensor<5x6x2xf16>, tensor<6x5x3xf16>) -> tensor<6x5x2x3xbf16>
    func.return
  }
  // CHECK-LABEL: func.func @batches(%x: tensor<5x6x2xf16>, %y: tensor<6x5x3xf16>) {
  // CHECK-NEXT:  %a = ptir.dot_general %x, %y batch_lhs = [1, 0] batch_rhs = [0, 1] contract_lhs = [] contract_rhs = [] accum_dtype = f32 out_dtype = bf16 : (tensor<5x6x2xf16>, tensor<6x5x3xf16>) -> tensor<6x5x2x3xbf16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "batches"
  // GENERIC-NEXT:  ^bb0(%x: tensor<5x6x2xf16>, %y: tensor<6x5x3xf16>):
  // GENERIC-NEXT:  %a = "ptir.dot_general"(%x, %y) <{batch_lhs = array<i64: 1, 0>, batch_rhs = array<i64: 0, 1>, contract_lhs = array<i64>, contract_rhs = array<i64>, accum_dtype = f32, out_dtype = bf16}> : (tensor<5x6x2xf16>, tensor<6x5x3xf16>) -> tensor<6x5x2x3xbf16>

  func.func @reduce_window(%x: tensor<1x5x5x3xf32>) {
    %a = ptir.reduce_window %x kind = max window_dims = [1, 3, 3, 1] strides = [1, 2, 2, 1] padding = [[0, 0], [1, 1], [1, 1], [0, 0]] base_dilation = [1, 1, 1, 1] window_dilation = [1, 1, 1, 1] : tensor<1x5x5x3xf32> -> tensor<1x3x3x3xf32>
    func.return
  }
  // CHECK-LABEL: func.func @reduce_window(%x: tensor<1x5x5x3xf32>) {
  // CHECK-NEXT:  %a = ptir.reduce_window %x kind = max window_dims = [1, 3, 3, 1] strides = [1, 2, 2, 1] padding = {{\[\[}}0, 0], [1, 1], [1, 1], [0, 0]] base_dilation = [1, 1, 1, 1] window_dilation = [1, 1, 1, 1] : tensor<1x5x5x3xf32> -> tensor<1x3x3x3xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "reduce_window"
  // GENERIC-NEXT:  ^bb0(%x: tensor<1x5x5x3xf32>):
  // GENERIC-NEXT:  %a = "ptir.reduce_window"(%x) <{kind = "max", window_dims = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, padding = array<i64: 0, 0, 1, 1, 1, 1, 0, 0>, base_dilation = array<i64: 1, 1, 1, 1>, window_dilation = array<i64: 1, 1, 1, 1>}> : (tensor<1x5x5x3xf32>) -> tensor<1x3x3x3xf32>

  func.func @dilated_window(%x: tensor<5xf16>) {
    %a = ptir.reduce_window %x kind = sum window_dims = [2] strides = [3] padding = [[0, 2]] base_dilation = [2] window_dilation = [3] accum_dtype = f64 : tensor<5xf16> -> tensor<3xf16>
    %b = ptir.reduce_window %x kind = min window_dims = [1] strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] : tensor<5xf16>
    func.return
  }
  // CHECK-LABEL: func.func @dilated_window(%x: tensor<5xf16>) {
  // CHECK-NEXT:  %a = ptir.reduce_window %x kind = sum window_dims = [2] strides = [3] padding = {{\[\[}}0, 2]] base_dilation = [2] window_dilation = [3] accum_dtype = f64 : tensor<5xf16> -> tensor<3xf16>
  // CHECK-NEXT:  %b = ptir.reduce_window %x kind = min window_dims = [1] strides = [1] padding = {{\[\[}}0, 0]] base_dilation = [1] window_dilation = [1] : tensor<5xf16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "dilated_window"
  // GENERIC-NEXT:  ^bb0(%x: tensor<5xf16>):
  // GENERIC-NEXT:  %a = "ptir.reduce_window"(%x) <{kind = "sum", window_dims = array<i64: 2>, strides = array<i64: 3>, padding = array<i64: 0, 2>, base_dilation = array<i64: 2>, window_dilation = array<i64: 3>, accum_dtype = f64}> : (tensor<5xf16>) -> tensor<3xf16>
  // GENERIC-NEXT:  %b = "ptir.reduce_window"(%x) <{kind = "min", window_dims = array<i64: 1>, strides = array<i64: 1>, padding = array<i64: 0, 0>, base_dilation = array<i64: 1>, window_dilation = array<i64: 1>}> : (tensor<5xf16>) -> tensor<5xf16>

  func.func @extract_patches(%x: tensor<1x5x5x3xf32>) {
    %a = ptir.extract_patches %x window = [3, 3] strides = [2, 2] dilation = [1, 1] padding = [[0, 0], [0, 0]] pad_value = -inf : f32 : tensor<1x5x5x3xf32> -> tensor<1x2x2x27xf32>
    func.return
  }
  // CHECK-LABEL: func.func @extract_patches(%x: tensor<1x5x5x3xf32>) {
  // CHECK-NEXT:  %a = ptir.extract_patches %x window = [3, 3] strides = [2, 2] dilation = [1, 1] padding = {{\[\[}}0, 0], [0, 0]] pad_value = -inf : f32 : tensor<1x5x5x3xf32> -> tensor<1x2x2x27xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "extract_patches"
  // GENERIC-NEXT:  ^bb0(%x: tensor<1x5x5x3xf32>):
  // GENERIC-NEXT:  %a = "ptir.extract_patches"(%x) <{window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilation = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, pad_value = #ptir.literal<-inf : tensor<f32>>}> : (tensor<1x5x5x3xf32>) -> tensor<1x2x2x27xf32>

  func.func @segment_reduce(%x: tensor<6x4xf32>, %i: tensor<6xsi32>) {
    %a = ptir.segment_reduce %x, %i kind = sum num_segments = 3 indices_are_sorted = true unique = false : (tensor<6x4xf32>, tensor<6xsi32>) -> tensor<3x4xf32>
    %b = ptir.segment_reduce %x, %i kind = max num_segments = 0 accum_dtype = f64 indices_are_sorted = false unique = true : (tensor<6x4xf32>, tensor<6xsi32>) -> tensor<0x4xf32>
    func.return
  }
  // CHECK-LABEL: func.func @segment_reduce(%x: tensor<6x4xf32>, %i: tensor<6xsi32>) {
  // CHECK-NEXT:  %a = ptir.segment_reduce %x, %i kind = sum num_segments = 3 indices_are_sorted = true unique = false : (tensor<6x4xf32>, tensor<6xsi32>) -> tensor<3x4xf32>
  // CHECK-NEXT:  %b = ptir.segment_reduce %x, %i kind = max num_segments = 0 accum_dtype = f64 indices_are_sorted = false unique = true : (tensor<6x4xf32>, tensor<6xsi32>) -> tensor<0x4xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "segment_reduce"
  // GENERIC-NEXT:  ^bb0(%x: tensor<6x4xf32>, %i: tensor<6xsi32>):
  // GENERIC-NEXT:  %a = "ptir.segment_reduce"(%x, %i) <{kind = "sum", num_segments = 3 : i64, indices_are_sorted = true, unique = false}> : (tensor<6x4xf32>, tensor<6xsi32>) -> tensor<3x4xf32>
  // GENERIC-NEXT:  %b = "ptir.segment_reduce"(%x, %i) <{kind = "max", num_segments = 0 : i64, accum_dtype = f64, indices_are_sorted = false, unique = true}> : (tensor<6x4xf32>, tensor<6xsi32>) -> tensor<0x4xf32>
}
