// RUN: MIND_INVALID

// A program states ptir.v0.4; any other version, and none, is refused.
// CHECK: error[E8006]: the module around ptir.neg: ptir.spec_version is nothing, expected 'ptir.v0.4'
// CHECK: = note: SpecVersionMismatch
func.func @no_version(%x: tensor<2xf32>) {
  %a = ptir.neg %x : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E8006]: the module around ptir.neg: ptir.spec_version is "ptir.v0.3", expected 'ptir.v0.4'
// CHECK: = note: SpecVersionMismatch
builtin.module attributes {ptir.spec_version = "ptir.v0.3"} {
  func.func @other_version(%x: tensor<2xf32>) {
    %a = ptir.neg %x : tensor<2xf32>
    func.return
  }
}

// -----

// CHECK: error[E8006]: the module around ptir.neg: ptir.spec_version is "", expected 'ptir.v0.4'
// CHECK: = note: SpecVersionMismatch
builtin.module attributes {ptir.spec_version = ""} {
  func.func @empty_version(%x: tensor<2xf32>) {
    %a = ptir.neg %x : tensor<2xf32>
    func.return
  }
}

// -----

// CHECK: error[E8006]: the module around ptir.neg: ptir.spec_version is 4 : i64, expected 'ptir.v0.4'
// CHECK: = note: SpecVersionMismatch
builtin.module attributes {ptir.spec_version = 4 : i64} {
  func.func @version_of_another_kind(%x: tensor<2xf32>) {
    %a = ptir.neg %x : tensor<2xf32>
    func.return
  }
}

// -----

// Each instruction defines its value before it is used.
// CHECK: error[E4001]: add %a uses %b before its definition, which is neg %b
// CHECK: = note: VerificationError
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @early_use(%x: tensor<2xf32>) {
    %a = ptir.add %x, %b : tensor<2xf32>
    %b = ptir.neg %x : tensor<2xf32>
    func.return
  }
}

// -----

// CHECK: error[E4001]: %y is used but not defined
// CHECK: = note: VerificationError
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @undefined(%x: tensor<2xf32>) {
    %a = ptir.add %x, %y : tensor<2xf32>
    func.return
  }
}

// -----

// CHECK: error[E4000]: unknown op 'ptir.softmax', expected one of ptir.constant, ptir.neg,
// CHECK: = note: VerificationError
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @unknown_op(%x: tensor<2xf32>) {
    %a = ptir.softmax %x : tensor<2xf32>
    func.return
  }
}
