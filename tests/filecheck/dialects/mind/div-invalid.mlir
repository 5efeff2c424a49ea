// RUN: MIND_INVALID

// CHECK: error[E6003]: Div %0: is not part of core-v1; set mind.profile = 'core-v1.1', or multiply by a reciprocal
func.func @core_v1(%x: tensor<2xf32>) {
  %0 = mind.div %x, %x : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2007]: Div %0: expects 2 operands, found 1
func.func @operand_count(%x: tensor<2xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = "mind.div"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2007]: Div: expects 1 result, found 0
func.func @result_count(%x: tensor<2xf32>) attributes {mind.profile = "core-v1.1"} {
  "mind.div"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> ()
  func.return
}

// -----

// CHECK: error[E4000]: Div %0: unknown attribute 'axis', expected []
func.func @unknown_attribute(%x: tensor<2xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.div %x, %x {axis = 1 : i64} : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Div: unexpected attribute 'axis', expected []
func.func @unknown_property(%x: tensor<2xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.div %x, %x axis = 1 : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2001]: Div %0: expected a tensor, found f32
func.func @not_a_tensor() attributes {mind.profile = "core-v1.1"} {
  %x = "test.op"() : () -> f32
  %0 = mind.div %x, %x : f32
  func.return
}

// -----

// CHECK: error[E2005]: Div %0: tensor elements must be one of ['i32', 'i64', 'f32', 'f64'], found i1
func.func @dtype() attributes {mind.profile = "core-v1.1"} {
  %x = "test.op"() : () -> tensor<2xi1>
  %0 = mind.div %x, %x : tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E2004]: Div %0: operands of dtypes i32 and f64, expected one dtype
func.func @mixed_dtypes(%x: tensor<2xi32>, %y: tensor<2xf64>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.div %x, %y : (tensor<2xi32>, tensor<2xf64>) -> tensor<2xf64>
  func.return
}

// -----

// CHECK: error[E3006]: Div %0: extent ? at 0 in ['?'], expected static, 0 to 2^63 - 1
func.func @dynamic_extent() attributes {mind.profile = "core-v1.1"} {
  %x = "test.op"() : () -> tensor<?xf32>
  %0 = mind.div %x, %x : tensor<?xf32>
  func.return
}

// -----

// CHECK: error[E3001]: Div %0: cannot broadcast [3, 4] with [3, 5]: 4 and 5 at dimension 1, expected equal or 1
func.func @no_broadcast(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.div %x, %y : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<3x4xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Div %0: declared result tensor<2x1xf32>, inferred tensor<2x3xf32>
func.func @declared_shape(%x: tensor<2x1xf32>, %y: tensor<3xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.div %x, %y : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x1xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Div %0: declared result tensor<2xf64>, inferred tensor<2xf32>
func.func @declared_dtype(%x: tensor<2xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.div %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf64>
  func.return
}
