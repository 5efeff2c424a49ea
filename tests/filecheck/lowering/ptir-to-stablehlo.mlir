// RUN: mind-opt %s --convert-ptir-to-stablehlo --print-op-generic | filecheck %s
// RUN: mind-opt %s --convert-ptir-to-stablehlo="precision=default checks" --print-op-generic | filecheck %s --check-prefix=CHECKED
// RUN: mind-opt %s -t 'stablehlo{function=random}' | filecheck %s --check-prefix=MAIN

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  // Sums are in f32, the result is rounded once.
  func.func @dot(%x: tensor<2x3xbf16> {mind.name = "x"}, %w: tensor<3x4xbf16>) -> tensor<2x4xbf16> {
    %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
      : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
    func.return %y : tensor<2x4xbf16>
  }

  // Products of f32 are in f32 on every device, unless told otherwise.
  func.func @product(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<f32> {
    %d = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [0] contract_rhs = [0]
      : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
    func.return %d : tensor<f32>
  }

  // Integers saturate before they are converted, as StableHLO wraps them.
  func.func @narrow(%x: tensor<2xsi32>) -> tensor<2xui8> {
    %y = ptir.cast %x dtype = ui8 : tensor<2xsi32> -> tensor<2xui8>
    func.return %y : tensor<2xui8>
  }

  // A wrapping conversion is one op.
  func.func @wrap(%x: tensor<2xsi32>) -> tensor<2xui8> {
    %y = ptir.truncate %x dtype = ui8 : tensor<2xsi32> -> tensor<2xui8>
    func.return %y : tensor<2xui8>
  }

  // A constant divisor without 0 needs no check, a divisor that is data does.
  func.func @divide(%x: tensor<2xsi32>, %z: tensor<2xsi32>) -> (tensor<2xsi32>, tensor<2xsi32>) {
    %k = ptir.constant [3, 4] : tensor<2xsi32>
    %q = ptir.div %x, %k : tensor<2xsi32>
    %r = ptir.remainder %q, %z : tensor<2xsi32>
    func.return %q, %r : tensor<2xsi32>, tensor<2xsi32>
  }

  // Random numbers take the seed as one more input.
  func.func @random() -> tensor<1xf32> {
    %r = ptir.rng_uniform shape = [1] dtype = f32 : tensor<1xf32>
    func.return %r : tensor<1xf32>
  }

  // A loop whose condition passes its arguments on is a loop of StableHLO.
  func.func @count(%n: tensor<si32>) -> tensor<si32> {
    %r = ptir.while %n : tensor<si32> -> tensor<si32> cond {
    ^bb0(%i: tensor<si32>):
      %zero = ptir.constant 0 : tensor<si32>
      %p = ptir.compare %i, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
      ptir.yield %p, %i : tensor<i1>, tensor<si32>
    } body {
    ^bb0(%i: tensor<si32>):
      %one = ptir.constant 1 : tensor<si32>
      %j = ptir.sub %i, %one : tensor<si32>
      ptir.yield %j : tensor<si32>
    }
    func.return %r : tensor<si32>
  }
}

// CHECK:      "func.func"() <{sym_name = "dot", function_type = (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
// CHECK-NOT:  mind.name
// CHECK:      ^bb0(%[[X:[a-z0-9]+]]: tensor<2x3xbf16>, %[[W:[a-z0-9]+]]: tensor<3x4xbf16>):
// CHECK-NEXT: %[[Y:[a-z0-9]+]] = "stablehlo.dot_general"(%[[X]], %[[W]]) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[Z:[a-z0-9_]+]] = "stablehlo.convert"(%[[Y]]) : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// CHECK-NEXT: "func.return"(%[[Z]])

// CHECK:      "func.func"() <{sym_name = "product"
// CHECK:      "stablehlo.dot_general"(%a, %b)
// CHECK-SAME: precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]
// CHECKED:     "func.func"() <{sym_name = "product"
// CHECKED:     "stablehlo.dot_general"(%a, %b)
// CHECKED-NOT: precision_config

// CHECK:      "func.func"() <{sym_name = "narrow", function_type = (tensor<2xi32>) -> tensor<2xui8>
// CHECK:      ^bb0(%[[X:[a-z0-9]+]]: tensor<2xi32>):
// CHECK-NEXT: %[[LO:[a-z0-9]+]] = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
// CHECK-NEXT: %[[HI:[a-z0-9]+]] = "stablehlo.constant"() <{value = dense<255> : tensor<i32>}> : () -> tensor<i32>
// CHECK-NEXT: %[[C:[a-z0-9]+]] = "stablehlo.clamp"(%[[LO]], %[[X]], %[[HI]]) : (tensor<i32>, tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
// CHECK-NEXT: %[[Y:[a-z0-9]+]] = "stablehlo.convert"(%[[C]]) : (tensor<2xi32>) -> tensor<2xui8>

// CHECK:      "func.func"() <{sym_name = "wrap"
// CHECK:      ^bb0(%[[X:[a-z0-9]+]]: tensor<2xi32>):
// CHECK-NEXT: %[[Y:[a-z0-9]+]] = "stablehlo.convert"(%[[X]]) : (tensor<2xi32>) -> tensor<2xui8>
// CHECK-NEXT: "func.return"(%[[Y]])

// CHECK:       "func.func"() <{sym_name = "divide", function_type = (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
// CHECKED:      "func.func"() <{sym_name = "divide", function_type = (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<i32>)
// CHECKED:      ^bb0(%[[X:[a-z0-9]+]]: tensor<2xi32>, %[[Z:[a-z0-9]+]]: tensor<2xi32>):
// CHECKED:      %[[K:[a-z0-9]+]] = "stablehlo.constant"() <{value = dense<[3, 4]> : tensor<2xi32>}>
// CHECKED-NEXT: %[[Q:[a-z0-9]+]] = "stablehlo.divide"(%[[X]], %[[K]])
// CHECKED:      %[[BAD:[a-z0-9]+]] = "stablehlo.compare"(%[[Z]], %[[ZERO:[a-z0-9]+]]) <{comparison_direction = #stablehlo<comparison_direction EQ>}>
// CHECKED:      "stablehlo.reduce"(%[[BAD]], %[[NO:[a-z0-9]+]])
// CHECKED:      "stablehlo.remainder"(%[[Q]], %[[Z]])

// CHECK:      "func.func"() <{sym_name = "random", function_type = (tensor<2xui32>) -> tensor<1xf32>
// MAIN:       "builtin.module"() <{sym_name = "random"}> ({
// MAIN-NEXT:    "func.func"() <{sym_name = "main", function_type = (tensor<2xui32>) -> tensor<1xf32>, sym_visibility = "public"}> ({
// MAIN-NEXT:    ^bb0(%seed: tensor<2xui32>):
// MAIN-NOT:   func.func

// CHECK:      "func.func"() <{sym_name = "count"
// CHECK:      ^bb0(%[[N:[a-z0-9]+]]: tensor<i32>):
// CHECK-NEXT: %[[R:[a-z0-9]+]] = "stablehlo.while"(%[[N]]) ({
// CHECK-NEXT: ^bb0(%[[I:[a-z0-9]+]]: tensor<i32>):
// CHECK:        %[[P:[a-z0-9]+]] = "stablehlo.compare"(%[[I]], %[[ZERO:[a-z0-9]+]]) <{comparison_direction = #stablehlo<comparison_direction GT>}>
// CHECK-NEXT:   "stablehlo.return"(%[[P]]) : (tensor<i1>) -> ()
// CHECK-NEXT: }, {
// CHECK-NEXT: ^bb0(%[[I:[a-z0-9]+]]: tensor<i32>):
// CHECK:        %[[J:[a-z0-9]+]] = "stablehlo.subtract"(%[[I]], %[[ONE:[a-z0-9]+]])
// CHECK-NEXT:   "stablehlo.return"(%[[J]]) : (tensor<i32>) -> ()
// CHECK-NEXT: }) : (tensor<i32>) -> tensor<i32>
// CHECK-NEXT: "func.return"(%[[R]])
