// RUN: mind-opt %s --plan-buffers | filecheck %s
// RUN: mind-opt %s -t buffer-plan | filecheck %s --check-prefix=TABLE

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  // The view %t keeps the memory of %a, so %b does not get its slot; %c may overwrite %b.
  func.func @views(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
    %a = ptir.exp %x : tensor<2x3xf32>
    %t = ptir.transpose %a perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    %b = ptir.neg %x : tensor<2x3xf32>
    %c = ptir.abs %b : tensor<2x3xf32>
    %r = ptir.reshape %c new_shape = [3, 2] : tensor<2x3xf32> -> tensor<3x2xf32>
    %s = ptir.add %t, %r : tensor<3x2xf32>
    func.return %s : tensor<3x2xf32>
  }

  // A loop's carried value has one buffer, which is its result.
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

// CHECK-LABEL: func.func @views
// CHECK-SAME:  mind.buffer_plan = {peak_bytes = 72 : i64, slot_bytes = 72 : i64, parameter_bytes = 24 : i64, constant_bytes = 0 : i64, result_bytes = 24 : i64, unknown_sizes = 0 : i64
// CHECK-SAME:  slots = ["slot 0: 24 bytes of f32, for b1", "slot 1: 24 bytes of f32, for b3", "slot 2: 24 bytes of f32, for b4"]
// CHECK-SAME:  parameters = ["b0: 24 bytes, parameter, live 0 to 3"]
// CHECK:       %a = ptir.exp %x {mind.buffers = ["b1: 24 bytes, live 1 to 6, slot 0"]} : tensor<2x3xf32>
// CHECK-NEXT:  %t = ptir.transpose %a perm = [1, 0] {mind.buffers = ["b2: 24 bytes, live 1 to 6, views b1, slot 0"]}
// CHECK-NEXT:  %b = ptir.neg %x {mind.buffers = ["b3: 24 bytes, live 3 to 4, slot 1"]}
// CHECK-NEXT:  %c = ptir.abs %b {mind.buffers = ["b4: 24 bytes, live 4 to 6, slot 2, may overwrite b3"]}
// CHECK-NEXT:  %r = ptir.reshape %c new_shape = [3, 2] {mind.buffers = ["b5: 24 bytes, live 4 to 6, is b4, slot 2"]}
// CHECK-NEXT:  %s = ptir.add %t, %r {mind.buffers = ["b6: 24 bytes, result, live 6 to 7, may overwrite b5"]}

// TABLE-LABEL: @views: peak 72 bytes, slots 72, parameters 24, constants 0, results 24
// TABLE-NEXT:    b0: 24 bytes, parameter, live 0 to 3
// TABLE-LABEL: @loop: peak 9 bytes, slots 5, parameters 4, constants 4, results 4
// TABLE-NEXT:    b0: 4 bytes, parameter, live 0 to 1
// TABLE-NEXT:    b1: 4 bytes, result, live 1 to 8
// TABLE-NEXT:    b2: 4 bytes, constant, live 2 to 3
// TABLE-NEXT:    b3: 1 bytes, live 3 to 7, slot 0
// TABLE-NEXT:    b4: 4 bytes, live 1 to 8, is b1
// TABLE-NEXT:    b5: 4 bytes, live 5 to 7, slot 1
// TABLE-NEXT:    b6: 4 bytes, result, live 1 to 8, is b1
// TABLE-NEXT:    slot 0: 1 bytes of i1, for b3
// TABLE-NEXT:    slot 1: 4 bytes of si32, for b5
