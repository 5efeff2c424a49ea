// RUN: PTIR_INVALID

// cond: the predicate is a scalar i1, and both regions take the arguments and give the same.
// CHECK: error[E3002]: cond: pred has rank 1, expected 0, one truth for all
// CHECK: = note: ShapeError
func.func @pred_rank(%p: tensor<1xi1>) {
  ptir.cond %p : tensor<1xi1> -> () true {
    ptir.yield
  } false {
    ptir.yield
  }
  func.return
}

// -----

// CHECK: error[E2005]: cond: pred has dtype si32, expected one of ['i1']
// CHECK: = note: DTypeNotSupported
func.func @pred_dtype(%p: tensor<si32>) {
  ptir.cond %p : tensor<si32> -> () true {
    ptir.yield
  } false {
    ptir.yield
  }
  func.return
}

// -----

// CHECK: error[E8005]: cond %r: region false takes (tensor<2xf64>), expected (tensor<2xf32>)
// CHECK: = note: RegionSignatureMismatch
func.func @parameters(%p: tensor<i1>, %x: tensor<2xf32>) {
  %r = ptir.cond %p, %x : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> true {
  ^bb0(%a: tensor<2xf32>):
    ptir.yield %a : tensor<2xf32>
  } false {
  ^bb0(%b: tensor<2xf64>):
    ptir.yield %b : tensor<2xf64>
  }
  func.return
}

// -----

// CHECK: error[E8005]: cond %r: region false yields (tensor<2xf16>), expected (tensor<2xf32>)
// CHECK: = note: RegionSignatureMismatch
func.func @branches_differ(%p: tensor<i1>, %x: tensor<2xf32>) {
  %r = ptir.cond %p, %x : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> true {
  ^bb0(%a: tensor<2xf32>):
    ptir.yield %a : tensor<2xf32>
  } false {
  ^bb0(%b: tensor<2xf32>):
    %c = ptir.cast %b dtype = f16 : tensor<2xf32> -> tensor<2xf16>
    ptir.yield %c : tensor<2xf16>
  }
  func.return
}

// -----

// CHECK: error[E8005]: cond %r: region false yields (tensor<2xf32>, tensor<2xf32>), expected (tensor<2xf32>)
// CHECK: = note: RegionSignatureMismatch
func.func @branch_yields_more(%p: tensor<i1>, %x: tensor<2xf32>) {
  %r = ptir.cond %p, %x : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> true {
  ^bb0(%a: tensor<2xf32>):
    ptir.yield %a : tensor<2xf32>
  } false {
  ^bb0(%b: tensor<2xf32>):
    ptir.yield %b, %b : tensor<2xf32>, tensor<2xf32>
  }
  func.return
}

// -----

// CHECK: error[E2007]: cond %r: expects 1 results, found 2
// CHECK: = note: TypeError
func.func @declared_results(%p: tensor<i1>, %x: tensor<2xf32>) {
  %r, %s = ptir.cond %p, %x : (tensor<i1>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) true {
  ^bb0(%a: tensor<2xf32>):
    ptir.yield %a : tensor<2xf32>
  } false {
  ^bb0(%b: tensor<2xf32>):
    ptir.yield %b : tensor<2xf32>
  }
  func.return
}

// -----

// Isolated from above: what a region uses is an operand.
// CHECK: error[E4001]: yield uses %x from outside of cond %r, whose regions see their arguments only; pass it in
// CHECK: = note: VerificationError
func.func @captured(%p: tensor<i1>, %x: tensor<2xf32>) {
  %r = ptir.cond %p : tensor<i1> -> tensor<2xf32> true {
    ptir.yield %x : tensor<2xf32>
  } false {
    ptir.yield %x : tensor<2xf32>
  }
  func.return
}

// -----

// while: the region cond gives a scalar i1 and what is carried, the body what is carried.
// CHECK: error[E8005]: while %r: region cond yields (tensor<2xf32>), expected (tensor<i1>, tensor<2xf32>)
// CHECK: = note: RegionSignatureMismatch
func.func @no_truth(%x: tensor<2xf32>) {
  %r = ptir.while %x : tensor<2xf32> cond {
  ^bb0(%a: tensor<2xf32>):
    ptir.yield %a : tensor<2xf32>
  } body {
  ^bb0(%b: tensor<2xf32>):
    ptir.yield %b : tensor<2xf32>
  }
  func.return
}

// -----

// CHECK: error[E8005]: while %r: region cond yields (tensor<1xi1>, tensor<1xi1>), expected (tensor<i1>, tensor<1xi1>)
// CHECK: = note: RegionSignatureMismatch
func.func @truth_rank(%x: tensor<1xi1>) {
  %r = ptir.while %x : tensor<1xi1> cond {
  ^bb0(%a: tensor<1xi1>):
    ptir.yield %a, %a : tensor<1xi1>, tensor<1xi1>
  } body {
  ^bb0(%b: tensor<1xi1>):
    ptir.yield %b : tensor<1xi1>
  }
  func.return
}

// -----

// CHECK: error[E8005]: while %r: region cond yields (tensor<i1>), expected (tensor<i1>, tensor<i1>)
// CHECK: = note: RegionSignatureMismatch
func.func @cond_drops(%x: tensor<i1>) {
  %r = ptir.while %x : tensor<i1> cond {
  ^bb0(%a: tensor<i1>):
    ptir.yield %a : tensor<i1>
  } body {
  ^bb0(%b: tensor<i1>):
    ptir.yield %b : tensor<i1>
  }
  func.return
}

// -----

// CHECK: error[E8005]: while %r: region body yields (tensor<i1>, tensor<4xf32>), expected (tensor<i1>, tensor<2xf32>)
// CHECK: = note: RegionSignatureMismatch
func.func @body_changes_shape(%p: tensor<i1>, %x: tensor<2xf32>) {
  %r, %s = ptir.while %p, %x : (tensor<i1>, tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>) cond {
  ^bb0(%a: tensor<i1>, %b: tensor<2xf32>):
    ptir.yield %a, %a, %b : tensor<i1>, tensor<i1>, tensor<2xf32>
  } body {
  ^bb0(%c: tensor<i1>, %d: tensor<2xf32>):
    %e = ptir.concat %d, %d axis = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    ptir.yield %c, %e : tensor<i1>, tensor<4xf32>
  }
  func.return
}

// -----

// scan: at least one scanned input, all of one length; the body takes the carry and a slice of each.
// CHECK: error[E8002]: scan %r: carry_count 1 and scan_output_count 0 with 1 operands, expected counts from 0 up and at least one scanned input
// CHECK: = note: InvalidAttributeValue
func.func @nothing_scanned(%x: tensor<2xf32>) {
  %r = ptir.scan %x carry_count = 1 scan_output_count = 0 : tensor<2xf32> body {
  ^bb0(%a: tensor<2xf32>):
    ptir.yield %a : tensor<2xf32>
  }
  func.return
}

// -----

// CHECK: error[E8002]: scan %r: carry_count 0 and scan_output_count -1 with 1 operands, expected counts from 0 up and at least one scanned input
// CHECK: = note: InvalidAttributeValue
func.func @negative_count(%x: tensor<2xf32>) {
  %r = ptir.scan %x carry_count = 0 scan_output_count = -1 : tensor<2xf32> body {
  ^bb0(%a: tensor<f32>):
    ptir.yield %a : tensor<f32>
  }
  func.return
}

// -----

// CHECK: error[E3002]: scan %r: scanned input has rank 0, expected at least 1
// CHECK: = note: ShapeError
func.func @scalar_scanned(%x: tensor<f32>) {
  %r = ptir.scan %x carry_count = 0 scan_output_count = 1 : tensor<f32> body {
  ^bb0(%a: tensor<f32>):
    ptir.yield %a : tensor<f32>
  }
  func.return
}

// -----

// CHECK: error[E3003]: scan: scanned axis 0 extents 2 and 3, expected equal
// CHECK: = note: ShapeError
func.func @lengths_differ(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  ptir.scan %x, %y carry_count = 0 scan_output_count = 0 : (tensor<2xf32>, tensor<3xf32>) -> () body {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    ptir.yield
  }
  func.return
}

// -----

// CHECK: error[E8005]: scan: region body takes (tensor<2xf32>), expected (tensor<f32>)
// CHECK: = note: RegionSignatureMismatch
func.func @whole_input_for_a_slice(%x: tensor<2xf32>) {
  ptir.scan %x carry_count = 0 scan_output_count = 0 : tensor<2xf32> -> () body {
  ^bb0(%a: tensor<2xf32>):
    ptir.yield
  }
  func.return
}

// -----

// CHECK: error[E8005]: scan %r: region body carries (tensor<f16>), expected (tensor<f32>)
// CHECK: = note: RegionSignatureMismatch
func.func @carry_changes_type(%c: tensor<f32>, %x: tensor<2xf16>) {
  %r = ptir.scan %c, %x carry_count = 1 scan_output_count = 0 : (tensor<f32>, tensor<2xf16>) -> tensor<f32> body {
  ^bb0(%a: tensor<f32>, %b: tensor<f16>):
    ptir.yield %b : tensor<f16>
  }
  func.return
}

// -----

// CHECK: error[E8005]: scan %r: region body yields 1 values, expected 1 carried and 1 to stack
// CHECK: = note: RegionSignatureMismatch
func.func @too_few_outputs(%c: tensor<f32>, %x: tensor<2xf32>) {
  %r, %s = ptir.scan %c, %x carry_count = 1 scan_output_count = 1 : (tensor<f32>, tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>) body {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    ptir.yield %a : tensor<f32>
  }
  func.return
}

// -----

// CHECK: error[E4015]: scan %r: declared result tensor<3xf32>, inferred tensor<2xf32>
// CHECK: = note: VerificationError
func.func @stacked_length(%x: tensor<2xf32>) {
  %r = ptir.scan %x carry_count = 0 scan_output_count = 1 : tensor<2xf32> -> tensor<3xf32> body {
  ^bb0(%a: tensor<f32>):
    ptir.yield %a : tensor<f32>
  }
  func.return
}

// -----

// A region is one block that ends in ptir.yield, which stands nowhere else.
// CHECK: error[E8005]: while %r: region cond has 0 blocks, expected one block that ends in ptir.yield
// CHECK: = note: RegionSignatureMismatch
func.func @no_block(%x: tensor<f32>) {
  %r = "ptir.while"(%x) ({}, {}) : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E8005]: fusion %r: region body has a block that ends in test.termop, expected one block that ends in ptir.yield
// CHECK: = note: RegionSignatureMismatch
func.func @another_terminator(%x: tensor<f32>) {
  %r = "ptir.fusion"(%x) ({
  ^bb0(%a: tensor<f32>):
    "test.termop"() : () -> ()
  }) : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E8005]: yield: is in func.func, expected a region of ptir
// CHECK: = note: RegionSignatureMismatch
func.func @yield_elsewhere(%x: tensor<f32>) {
  "ptir.yield"(%x) : (tensor<f32>) -> ()
}

// -----

// CHECK: error[E8005]: cond: has 0 regions, expected ['true', 'false']
// CHECK: = note: RegionSignatureMismatch
func.func @regions_missing(%p: tensor<i1>) {
  "ptir.cond"(%p) : (tensor<i1>) -> ()
  func.return
}

// -----

// fusion: elementwise ops, broadcasts, reductions and no more contractions than its pattern has.
// CHECK: error[E8005]: fusion %r: the body holds ptir.sort, expected elementwise ops, broadcasts, reductions and at most one contraction
// CHECK: = note: RegionSignatureMismatch
func.func @sort_in_a_fusion(%x: tensor<2xf32>) {
  %r = ptir.fusion %x : tensor<2xf32> body {
  ^bb0(%a: tensor<2xf32>):
    %b = ptir.sort %a axis = 0 descending = false : tensor<2xf32>
    ptir.yield %b : tensor<2xf32>
  }
  func.return
}

// -----

// CHECK: error[E8005]: fusion %r: the body holds a second ptir.dot_general, expected elementwise ops, broadcasts, reductions and at most one contraction
// CHECK: = note: RegionSignatureMismatch
func.func @two_contractions(%x: tensor<2x2xf32>) {
  %r = ptir.fusion %x : tensor<2x2xf32> body {
  ^bb0(%a: tensor<2x2xf32>):
    %b = ptir.dot_general %a, %a batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : tensor<2x2xf32>
    %c = ptir.dot_general %b, %a batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : tensor<2x2xf32>
    ptir.yield %c : tensor<2x2xf32>
  }
  func.return
}

// -----

// CHECK: error[E8005]: fusion %r: the body holds a first ptir.dot_general, expected elementwise ops, broadcasts, reductions and no contraction
// CHECK: = note: RegionSignatureMismatch
func.func @contraction_in_a_softmax(%x: tensor<2x2xf32>) {
  %r = ptir.fusion %x pattern = softmax : tensor<2x2xf32> body {
  ^bb0(%a: tensor<2x2xf32>):
    %b = ptir.dot_general %a, %a batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : tensor<2x2xf32>
    ptir.yield %b : tensor<2x2xf32>
  }
  func.return
}

// -----

// CHECK: error[E8002]: found relu, expected one of softmax, gelu, gelu_tanh, rms_norm, attention
// CHECK: = note: InvalidAttributeValue
func.func @unknown_pattern(%x: tensor<2xf32>) {
  %r = ptir.fusion %x pattern = relu : tensor<2xf32> body {
  ^bb0(%a: tensor<2xf32>):
    ptir.yield %a : tensor<2xf32>
  }
  func.return
}
