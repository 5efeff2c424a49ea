// RUN: PTIR_INVALID

// There are no products of truths, no bits of floats, no order of complex numbers.
// CHECK: error[E2005]: reduce %a: x has dtype i1, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @reduce_product_of_truths(%x: tensor<2xi1>) {
  %a = ptir.reduce %x kind = prod axes = [0] keepdims = false : tensor<2xi1> -> tensor<i1>
  func.return
}

// -----

// CHECK: error[E2005]: reduce %a: x has dtype f32, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64']
// CHECK: = note: DTypeNotSupported
func.func @reduce_bits_of_floats(%x: tensor<2xf32>) {
  %a = ptir.reduce %x kind = and axes = [0] keepdims = false : tensor<2xf32> -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E2005]: cumulative %a: x has dtype cf32, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @cumulative_order_of_complex(%x: tensor<2xcomplex<f32>>) {
  %a = ptir.cumulative %x kind = max axis = 0 exclusive = false reverse = false : tensor<2xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E8002]: cumulative %a: found "sum", expected one of prod, max, min
// CHECK: = note: InvalidAttributeValue
func.func @cumulative_sum_by_another_name(%x: tensor<2xf32>) {
  %a = "ptir.cumulative"(%x) <{kind = "sum", axis = 0 : i64, exclusive = false, reverse = false}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E3004]: cumulative %a: axis 1 is out of range for rank 1, expected -1 <= axis < 1
// CHECK: = note: ShapeError
func.func @cumulative_axis(%x: tensor<2xf32>) {
  %a = ptir.cumulative %x kind = min axis = 1 exclusive = false reverse = false : tensor<2xf32>
  func.return
}
