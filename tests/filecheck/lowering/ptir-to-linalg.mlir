// RUN: mind-opt %s --convert-ptir-to-linalg | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  // Products are exact in f32, the result is rounded once.
  func.func @dot(%x: tensor<2x3xbf16> {mind.name = "x"}, %w: tensor<3x4xbf16>) -> tensor<2x4xbf16> {
    %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
      : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
    func.return %y : tensor<2x4xbf16>
  }

  // NaN wins, so it is maximumf and not maxnumf.
  func.func @maximum(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
    %z = ptir.maximum %x, %y : tensor<2xf32>
    func.return %z : tensor<2xf32>
  }

  // Truncated, saturated, NaN to 0.
  func.func @cast(%x: tensor<2xf32>) -> tensor<2xui8> {
    %y = ptir.cast %x dtype = ui8 : tensor<2xf32> -> tensor<2xui8>
    func.return %y : tensor<2xui8>
  }

  func.func @unsigned(%x: tensor<2xui32>, %y: tensor<2xui32>) -> tensor<2xi1> {
    %z = ptir.compare %x, %y kind = less : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
    func.return %z : tensor<2xi1>
  }

  func.func @shapes(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
    %t = ptir.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    %r = ptir.reshape %t new_shape = [6] : tensor<3x2xf32> -> tensor<6xf32>
    %s = ptir.slice %r starts = [2] sizes = [2] : tensor<6xf32> -> tensor<2xf32>
    %b = ptir.broadcast_to %s result_shape = [3, 2] : tensor<2xf32> -> tensor<3x2xf32>
    func.return %b : tensor<3x2xf32>
  }

  func.func @loop(%n: tensor<si32>) -> tensor<si32> {
    %i = ptir.while %n : tensor<si32> cond {
    ^bb0(%p: tensor<si32>):
      %ten = ptir.constant 10 : tensor<si32>
      %t = ptir.compare %p, %ten kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
      ptir.yield %t, %p : tensor<i1>, tensor<si32>
    } body {
    ^bb0(%q: tensor<si32>):
      %m = ptir.add %q, %q : tensor<si32>
      ptir.yield %m : tensor<si32>
    }
    func.return %i : tensor<si32>
  }
}

// CHECK:       builtin.module {
// CHECK-LABEL: func.func @dot(%x: tensor<2x3xbf16>, %w: tensor<3x4xbf16>) -> tensor<2x4xbf16> {
// CHECK:         [[S:%\d+]] = linalg.fill
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME:    outs([[S]] : tensor<2x4xf32>)
// CHECK-NEXT:    ^bb0([[A:%\d+]]: bf16, [[B:%\d+]]: bf16, [[C:%\d+]]: f32):
// CHECK-NEXT:      [[D:%\d+]] = arith.extf [[A]] : bf16 to f32
// CHECK-NEXT:      [[E:%\d+]] = arith.extf [[B]] : bf16 to f32
// CHECK-NEXT:      [[F:%\d+]] = arith.mulf [[D]], [[E]] : f32
// CHECK-NEXT:      [[G:%\d+]] = arith.addf [[C]], [[F]] : f32
// CHECK-NEXT:      linalg.yield [[G]] : f32
// CHECK:         arith.truncf

// CHECK-LABEL: func.func @maximum
// CHECK:         arith.maximumf
// CHECK-NOT:     maxnumf

// CHECK-LABEL: func.func @cast(%x: tensor<2xf32>) -> tensor<2xi8> {
// CHECK:         ^bb0([[X:%\d+]]: f32
// CHECK-NEXT:      [[T:%\d+]] = arith.fptoui [[X]] : f32 to i8
// CHECK-NEXT:      [[HI:%\d+]] = arith.constant 2.560000e+02 : f32
// CHECK-NEXT:      [[ABOVE:%\d+]] = arith.cmpf oge, [[X]], [[HI]] : f32
// CHECK:           arith.select [[ABOVE]], {{%\d+}}, [[T]] : i8
// CHECK:           arith.cmpf uno, [[X]], [[X]] : f32

// CHECK-LABEL: func.func @unsigned(%x: tensor<2xi32>, %y: tensor<2xi32>) -> tensor<2xi1> {
// CHECK:         arith.cmpi ult

// CHECK-LABEL: func.func @shapes
// CHECK:         %t = linalg.transpose
// CHECK-NEXT:    %r = tensor.collapse_shape %t {{.*}} : tensor<3x2xf32> into tensor<6xf32>
// CHECK-NEXT:    %s = tensor.extract_slice %r[2] [2] [1] : tensor<6xf32> to tensor<2xf32>
// CHECK:         %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]

// CHECK-LABEL: func.func @loop
// CHECK-NEXT:    %i = scf.while ([[P:%\d+]] = %n) : (tensor<i32>) -> tensor<i32> {
// CHECK:           [[GO:%\d+]] = tensor.extract %t[] : tensor<i1>
// CHECK-NEXT:      scf.condition([[GO]]) [[P]] : tensor<i32>
// CHECK:           scf.yield %m : tensor<i32>
