// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Regions: isolated from above, their parameters are the block's arguments, their results what ptir.yield gives.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @cond(%p: tensor<i1>, %x: tensor<2xf32>, %y: tensor<2xf32>) {
    %r = ptir.cond %p, %x, %y : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> true {
    ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
      %c = ptir.add %a, %b : tensor<2xf32>
      ptir.yield %c : tensor<2xf32>
    } false {
    ^bb0(%d: tensor<2xf32>, %e: tensor<2xf32>):
      ptir.yield %e : tensor<2xf32>
    }
    func.return
  }
  // CHECK-LABEL: func.func @cond(%p: tensor<i1>, %x: tensor<2xf32>, %y: tensor<2xf32>) {
  // CHECK-NEXT:  %r = ptir.cond %p, %x, %y : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> true {
  // CHECK-NEXT:  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
  // CHECK-NEXT:  %c = ptir.add %a, %b : tensor<2xf32>
  // CHECK-NEXT:  ptir.yield %c : tensor<2xf32>
  // CHECK-NEXT:  } false {
  // CHECK-NEXT:  ^bb0(%d: tensor<2xf32>, %e: tensor<2xf32>):
  // CHECK-NEXT:  ptir.yield %e : tensor<2xf32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "cond"
  // GENERIC-NEXT:  ^bb0(%p: tensor<i1>, %x: tensor<2xf32>, %y: tensor<2xf32>):
  // GENERIC-NEXT:  %r = "ptir.cond"(%p, %x, %y) ({
  // GENERIC-NEXT:  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
  // GENERIC-NEXT:  %c = "ptir.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // GENERIC-NEXT:  "ptir.yield"(%c) : (tensor<2xf32>) -> ()
  // GENERIC-NEXT:  }, {
  // GENERIC-NEXT:  ^bb0(%d: tensor<2xf32>, %e: tensor<2xf32>):
  // GENERIC-NEXT:  "ptir.yield"(%e) : (tensor<2xf32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>

  // Neither parameters nor results.
  func.func @cond_of_nothing(%p: tensor<i1>) {
    ptir.cond %p : tensor<i1> -> () true {
      ptir.yield
    } false {
      ptir.yield
    }
    func.return
  }
  // CHECK-LABEL: func.func @cond_of_nothing(%p: tensor<i1>) {
  // CHECK-NEXT:  ptir.cond %p : tensor<i1> -> () true {
  // CHECK-NEXT:  ptir.yield
  // CHECK-NEXT:  } false {
  // CHECK-NEXT:  ptir.yield
  // CHECK-NEXT:  }
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "cond_of_nothing"
  // GENERIC-NEXT:  ^bb0(%p: tensor<i1>):
  // GENERIC-NEXT:  "ptir.cond"(%p) ({
  // GENERIC-NEXT:  "ptir.yield"() : () -> ()
  // GENERIC-NEXT:  }, {
  // GENERIC-NEXT:  "ptir.yield"() : () -> ()
  // GENERIC-NEXT:  }) : (tensor<i1>) -> ()

  // The region cond yields the truth and what is carried on.
  func.func @while(%n: tensor<si32>, %x: tensor<?x4xf32, "B,*">) {
    %r, %s = ptir.while %n, %x : (tensor<si32>, tensor<?x4xf32, "B,*">) -> (tensor<si32>, tensor<?x4xf32, "B,*">) cond {
    ^bb0(%a: tensor<si32>, %b: tensor<?x4xf32, "B,*">):
      %c = ptir.constant 0 : tensor<si32>
      %d = ptir.compare %a, %c kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
      ptir.yield %d, %a, %b : tensor<i1>, tensor<si32>, tensor<?x4xf32, "B,*">
    } body {
    ^bb0(%e: tensor<si32>, %f: tensor<?x4xf32, "B,*">):
      %g = ptir.constant 1 : tensor<si32>
      %h = ptir.sub %e, %g : tensor<si32>
      %i = ptir.tanh %f : tensor<?x4xf32, "B,*">
      ptir.yield %h, %i : tensor<si32>, tensor<?x4xf32, "B,*">
    }
    func.return
  }
  // CHECK-LABEL: func.func @while(%n: tensor<si32>, %x: tensor<?x4xf32, "B,*">) {
  // CHECK-NEXT:  %r, %s = ptir.while %n, %x : (tensor<si32>, tensor<?x4xf32, "B,*">) -> (tensor<si32>, tensor<?x4xf32, "B,*">) cond {
  // CHECK-NEXT:  ^bb0(%a: tensor<si32>, %b: tensor<?x4xf32, "B,*">):
  // CHECK-NEXT:  %c = ptir.constant 0 : tensor<si32>
  // CHECK-NEXT:  %d = ptir.compare %a, %c kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
  // CHECK-NEXT:  ptir.yield %d, %a, %b : tensor<i1>, tensor<si32>, tensor<?x4xf32, "B,*">
  // CHECK-NEXT:  } body {
  // CHECK-NEXT:  ^bb0(%e: tensor<si32>, %f: tensor<?x4xf32, "B,*">):
  // CHECK-NEXT:  %g = ptir.constant 1 : tensor<si32>
  // CHECK-NEXT:  %h = ptir.sub %e, %g : tensor<si32>
  // CHECK-NEXT:  %i = ptir.tanh %f : tensor<?x4xf32, "B,*">
  // CHECK-NEXT:  ptir.yield %h, %i : tensor<si32>, tensor<?x4xf32, "B,*">
  // CHECK-NEXT:  }
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "while"
  // GENERIC-NEXT:  ^bb0(%n: tensor<si32>, %x: tensor<?x4xf32, "B,*">):
  // GENERIC-NEXT:  %r, %s = "ptir.while"(%n, %x) ({
  // GENERIC-NEXT:  ^bb0(%a: tensor<si32>, %b: tensor<?x4xf32, "B,*">):
  // GENERIC-NEXT:  %c = "ptir.constant"() <{value = #ptir.literal<0 : tensor<si32>>}> : () -> tensor<si32>
  // GENERIC-NEXT:  %d = "ptir.compare"(%a, %c) <{kind = "greater"}> : (tensor<si32>, tensor<si32>) -> tensor<i1>
  // GENERIC-NEXT:  "ptir.yield"(%d, %a, %b) : (tensor<i1>, tensor<si32>, tensor<?x4xf32, "B,*">) -> ()
  // GENERIC-NEXT:  }, {
  // GENERIC-NEXT:  ^bb0(%e: tensor<si32>, %f: tensor<?x4xf32, "B,*">):
  // GENERIC-NEXT:  %g = "ptir.constant"() <{value = #ptir.literal<1 : tensor<si32>>}> : () -> tensor<si32>
  // GENERIC-NEXT:  %h = "ptir.sub"(%e, %g) : (tensor<si32>, tensor<si32>) -> tensor<si32>
  // GENERIC-NEXT:  %i = "ptir.tanh"(%f) : (tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*">
  // GENERIC-NEXT:  "ptir.yield"(%h, %i) : (tensor<si32>, tensor<?x4xf32, "B,*">) -> ()
  // GENERIC-NEXT:  }) : (tensor<si32>, tensor<?x4xf32, "B,*">) -> (tensor<si32>, tensor<?x4xf32, "B,*">)

  // One carried value, two inputs over the same time, one stacked output.
  func.func @scan(%c: tensor<2xf32>, %x: tensor<7x2xf32>, %y: tensor<7xf32>) {
    %r, %s = ptir.scan %c, %x, %y carry_count = 1 scan_output_count = 1 : (tensor<2xf32>, tensor<7x2xf32>, tensor<7xf32>) -> (tensor<2xf32>, tensor<7xf32>) body {
    ^bb0(%d: tensor<2xf32>, %e: tensor<2xf32>, %f: tensor<f32>):
      %g = ptir.add %d, %e : tensor<2xf32>
      ptir.yield %g, %f : tensor<2xf32>, tensor<f32>
    }
    func.return
  }
  // CHECK-LABEL: func.func @scan(%c: tensor<2xf32>, %x: tensor<7x2xf32>, %y: tensor<7xf32>) {
  // CHECK-NEXT:  %r, %s = ptir.scan %c, %x, %y carry_count = 1 scan_output_count = 1 : (tensor<2xf32>, tensor<7x2xf32>, tensor<7xf32>) -> (tensor<2xf32>, tensor<7xf32>) body {
  // CHECK-NEXT:  ^bb0(%d: tensor<2xf32>, %e: tensor<2xf32>, %f: tensor<f32>):
  // CHECK-NEXT:  %g = ptir.add %d, %e : tensor<2xf32>
  // CHECK-NEXT:  ptir.yield %g, %f : tensor<2xf32>, tensor<f32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "scan"
  // GENERIC-NEXT:  ^bb0(%c: tensor<2xf32>, %x: tensor<7x2xf32>, %y: tensor<7xf32>):
  // GENERIC-NEXT:  %r, %s = "ptir.scan"(%c, %x, %y) <{carry_count = 1 : i64, scan_output_count = 1 : i64}> ({
  // GENERIC-NEXT:  ^bb0(%d: tensor<2xf32>, %e: tensor<2xf32>, %f: tensor<f32>):
  // GENERIC-NEXT:  %g = "ptir.add"(%d, %e) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // GENERIC-NEXT:  "ptir.yield"(%g, %f) : (tensor<2xf32>, tensor<f32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<2xf32>, tensor<7x2xf32>, tensor<7xf32>) -> (tensor<2xf32>, tensor<7xf32>)

  func.func @nested(%p: tensor<i1>, %x: tensor<f32>) {
    %r = ptir.cond %p, %p, %x : (tensor<i1>, tensor<i1>, tensor<f32>) -> tensor<f32> true {
    ^bb0(%q: tensor<i1>, %a: tensor<f32>):
      %s = ptir.cond %q, %a : (tensor<i1>, tensor<f32>) -> tensor<f32> true {
      ^bb0(%b: tensor<f32>):
        %c = ptir.neg %b : tensor<f32>
        ptir.yield %c : tensor<f32>
      } false {
      ^bb0(%d: tensor<f32>):
        ptir.yield %d : tensor<f32>
      }
      ptir.yield %s : tensor<f32>
    } false {
    ^bb0(%t: tensor<i1>, %e: tensor<f32>):
      ptir.yield %e : tensor<f32>
    }
    func.return
  }
  // CHECK-LABEL: func.func @nested(%p: tensor<i1>, %x: tensor<f32>) {
  // CHECK-NEXT:  %r = ptir.cond %p, %p, %x : (tensor<i1>, tensor<i1>, tensor<f32>) -> tensor<f32> true {
  // CHECK-NEXT:  ^bb0(%q: tensor<i1>, %a: tensor<f32>):
  // CHECK-NEXT:  %s = ptir.cond %q, %a : (tensor<i1>, tensor<f32>) -> tensor<f32> true {
  // CHECK-NEXT:  ^bb0(%b: tensor<f32>):
  // CHECK-NEXT:  %c = ptir.neg %b : tensor<f32>
  // CHECK-NEXT:  ptir.yield %c : tensor<f32>
  // CHECK-NEXT:  } false {
  // CHECK-NEXT:  ^bb0(%d: tensor<f32>):
  // CHECK-NEXT:  ptir.yield %d : tensor<f32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  ptir.yield %s : tensor<f32>
  // CHECK-NEXT:  } false {
  // CHECK-NEXT:  ^bb0(%t: tensor<i1>, %e: tensor<f32>):
  // CHECK-NEXT:  ptir.yield %e : tensor<f32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "nested"
  // GENERIC-NEXT:  ^bb0(%p: tensor<i1>, %x: tensor<f32>):
  // GENERIC-NEXT:  %r = "ptir.cond"(%p, %p, %x) ({
  // GENERIC-NEXT:  ^bb0(%q: tensor<i1>, %a: tensor<f32>):
  // GENERIC-NEXT:  %s = "ptir.cond"(%q, %a) ({
  // GENERIC-NEXT:  ^bb0(%b: tensor<f32>):
  // GENERIC-NEXT:  %c = "ptir.neg"(%b) : (tensor<f32>) -> tensor<f32>
  // GENERIC-NEXT:  "ptir.yield"(%c) : (tensor<f32>) -> ()
  // GENERIC-NEXT:  }, {
  // GENERIC-NEXT:  ^bb0(%d: tensor<f32>):
  // GENERIC-NEXT:  "ptir.yield"(%d) : (tensor<f32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<i1>, tensor<f32>) -> tensor<f32>
  // GENERIC-NEXT:  "ptir.yield"(%s) : (tensor<f32>) -> ()
  // GENERIC-NEXT:  }, {
  // GENERIC-NEXT:  ^bb0(%t: tensor<i1>, %e: tensor<f32>):
  // GENERIC-NEXT:  "ptir.yield"(%e) : (tensor<f32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<i1>, tensor<i1>, tensor<f32>) -> tensor<f32>
}
