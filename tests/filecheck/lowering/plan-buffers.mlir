// RUN: mind-opt %s --plan-buffers | filecheck %s
// RUN: mind-opt %s -t buffer-plan | filecheck %s --check-prefix=TABLE

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  // The view %t keeps the memory of %a. The order of %x is not known, so that of %s is not, and a copy may be returned.
  func.func @views(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
    %a = ptir.exp %x : tensor<2x3xf32>
    %t = ptir.transpose %a perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    %b = ptir.neg %x : tensor<2x3xf32>
    %c = ptir.abs %b : tensor<2x3xf32>
    %r = ptir.reshape %c new_shape = [3, 2] : tensor<2x3xf32> -> tensor<3x2xf32>
    %s = ptir.add %t, %r : tensor<3x2xf32>
    func.return %s : tensor<3x2xf32>
  }

  // A loop's carried value has memory of its own; the result is that, or what the last iteration yields.
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

  // What is large is written over an operand that dies.
  func.func @in_place(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
    %a = ptir.exp %x : tensor<256x256xf32>
    %b = ptir.neg %a : tensor<256x256xf32>
    func.return %b : tensor<256x256xf32>
  }
}

// CHECK-LABEL: func.func @views
// CHECK-SAME:  mind.buffer_plan = {peak_bytes = 72 : i64, parameter_bytes = 24 : i64, constant_bytes = 0 : i64, result_bytes = 24 : i64, unknown_sizes = 0 : i64
// CHECK-SAME:  parameters = ["b0 %x: 24 bytes, parameter"]
// CHECK:       %a = ptir.exp %x {mind.buffers = ["b1 %a: 24 bytes, live 1 to 6"]} : tensor<2x3xf32>
// CHECK-NEXT:  %t = ptir.transpose %a perm = [1, 0] {mind.buffers = ["b2 %t: 24 bytes, in b1"]}
// CHECK-NEXT:  %b = ptir.neg %x {mind.buffers = ["b3 %b: 24 bytes, live 3 to 4"]}
// CHECK-NEXT:  %c = ptir.abs %b {mind.buffers = ["b4 %c: 24 bytes, live 4 to 6"]}
// CHECK-NEXT:  %r = ptir.reshape %c new_shape = [3, 2] {mind.buffers = ["b5 %r: 24 bytes, in b4"]}
// CHECK-NEXT:  %s = ptir.add %t, %r {mind.buffers = ["b6 %s: 24 bytes, live 6 to 7"]}
// CHECK-NEXT:  func.return {mind.buffers = ["b7: 24 bytes, result, live 7 to 8"]} %s

// TABLE-LABEL: @views: peak 72 bytes, parameters 24, constants 0, results 24
// TABLE-NEXT:    b0 %x: 24 bytes, parameter
// TABLE-LABEL: @loop: peak 9 bytes, parameters 4, constants 4, results 4
// TABLE-NEXT:    b0 %n: 4 bytes, parameter
// TABLE-NEXT:    b1 %p: 4 bytes, live 1 to 7
// TABLE-NEXT:    b2 %ten: 4 bytes, constant
// TABLE-NEXT:    b3 %t: 1 bytes, live 2 to 3
// TABLE-NEXT:    b4 %q: 4 bytes, in b1
// TABLE-NEXT:    b5 %m: 4 bytes, live 4 to 7
// TABLE-NEXT:    b6 %i: 4 bytes, in b1 or b5
// TABLE-NEXT:    b7: 4 bytes, result, live 7 to 8
// TABLE-LABEL: @in_place: peak 262144 bytes, parameters 262144, constants 0, results 262144
// TABLE-NEXT:    b0 %x: 262144 bytes, parameter
// TABLE-NEXT:    b1 %a: 262144 bytes, result, live 1 to 4
// TABLE-NEXT:    b2 %b: 262144 bytes, over b1
// TABLE-NEXT:    b3: 262144 bytes, in b1
