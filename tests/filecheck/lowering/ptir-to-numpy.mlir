// RUN: mind-opt %s -t numpy | filecheck %s --strict-whitespace --match-full-lines

module attributes {ptir.spec_version = "ptir.v0.4"} {
// A cache that a loop updates is copied once, before the loop, and written to in place.
func.func @cache(%cache: tensor<8x4xf32>, %row: tensor<1x4xf32>, %n: tensor<si32>) -> tensor<8x4xf32> {
  %zero = ptir.constant 0 : tensor<si32>
  %i, %c, %r = ptir.while %zero, %cache, %row : (tensor<si32>, tensor<8x4xf32>, tensor<1x4xf32>)
      -> (tensor<si32>, tensor<8x4xf32>, tensor<1x4xf32>) cond {
  ^bb0(%i: tensor<si32>, %c: tensor<8x4xf32>, %r: tensor<1x4xf32>):
    %m = ptir.constant 8 : tensor<si32>
    %p = ptir.compare %i, %m kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
    ptir.yield %p, %i, %c, %r : tensor<i1>, tensor<si32>, tensor<8x4xf32>, tensor<1x4xf32>
  } body {
  ^bb0(%i: tensor<si32>, %c: tensor<8x4xf32>, %r: tensor<1x4xf32>):
    %one = ptir.constant 1 : tensor<si32>
    %j = ptir.add %i, %one : tensor<si32>
    %start = ptir.broadcast_to %i result_shape = [2] : tensor<si32> -> tensor<2xsi32>
    %d = ptir.dynamic_update_slice %c, %r, %start sizes = [1, 4] : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<2xsi32>) -> tensor<8x4xf32>
    ptir.yield %j, %d, %r : tensor<si32>, tensor<8x4xf32>, tensor<1x4xf32>
  }
  func.return %c : tensor<8x4xf32>
}
//      CHECK:def cache(cache, row, n):
// CHECK-NEXT:    # cache: f32[8, 4]
// CHECK-NEXT:    # row: f32[1, 4]
// CHECK-NEXT:    # n: si32[]
// CHECK-NEXT:    v4 = k.copy(cache)  # f32[8, 4]
// CHECK-NEXT:    v5, v6, v7 = cache_c3, v4, row
// CHECK-NEXT:    del v4
// CHECK-NEXT:    while True:
// CHECK-NEXT:        v9 = xp.less(v5, cache_c8)  # i1[]
// CHECK-NEXT:        if not v9:
// CHECK-NEXT:            break
// CHECK-NEXT:        v11 = xp.add(v5, cache_c10)  # si32[]
// CHECK-NEXT:        v12 = k.broadcast_to(v5, result_shape=(2,))  # si32[2]
// CHECK-NEXT:        del v5
// CHECK-NEXT:        v13 = k.dynamic_update_slice_into(v6, v7, v12, sizes=(1, 4))  # f32[8, 4]
// CHECK-NEXT:        del v6, v12
// CHECK-NEXT:        v5, v6, v7 = v11, v13, v7
// CHECK-NEXT:        del v11, v13
// CHECK-NEXT:    del v5, v7
// CHECK-NEXT:    return v6

// Sums so far, stacked into an array made before the loop; what the scan does not use afterwards is let go in the loop.
func.func @sums(%z: tensor<2xf32>, %x: tensor<?x2xf32, "T,*">) -> (tensor<2xf32>, tensor<?x2xf32, "T,*">) {
  %c, %s = ptir.scan %z, %x carry_count = 1 scan_output_count = 1
    : (tensor<2xf32>, tensor<?x2xf32, "T,*">) -> (tensor<2xf32>, tensor<?x2xf32, "T,*">) body {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %d = ptir.add %a, %b : tensor<2xf32>
    ptir.yield %d, %d : tensor<2xf32>, tensor<2xf32>
  }
  func.return %c, %s : tensor<2xf32>, tensor<?x2xf32, "T,*">
}
//      CHECK:def sums(z, x):
// CHECK-NEXT:    # z: f32[2]
// CHECK-NEXT:    # x: f32[T, 2]
// CHECK-NEXT:    d_T = x.shape[0]
// CHECK-NEXT:    v2 = k.empty(x, shape=(2,), dtype=xp.float32)  # f32[T, 2]
// CHECK-NEXT:    v3 = z
// CHECK-NEXT:    for i4 in k.steps(x):
// CHECK-NEXT:        v5 = x[i4]
// CHECK-NEXT:        v6 = xp.add(v3, v5)  # f32[2]
// CHECK-NEXT:        del v3, v5
// CHECK-NEXT:        v2[i4] = v6
// CHECK-NEXT:        v3 = v6
// CHECK-NEXT:        del v6
// CHECK-NEXT:    k.expect(v2, ('T', 2), (d_T, 2))
// CHECK-NEXT:    v7 = k.copy(v3)  # f32[2]
// CHECK-NEXT:    del v3
// CHECK-NEXT:    return v7, v2

// What dies in a branch is let go in both.
func.func @branch(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %e = ptir.exp %x : tensor<4xf32>
  %y = ptir.cond %p, %e, %x : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> true {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %n = ptir.neg %a : tensor<4xf32>
    %m = ptir.tanh %n : tensor<4xf32>
    ptir.yield %m : tensor<4xf32>
  } false {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %n = ptir.neg %b : tensor<4xf32>
    ptir.yield %n : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
//      CHECK:def branch(p, x):
// CHECK-NEXT:    # p: i1[]
// CHECK-NEXT:    # x: f32[4]
// CHECK-NEXT:    v2 = xp.exp(x)  # f32[4]
// CHECK-NEXT:    if p:
// CHECK-NEXT:        v4 = xp.negative(v2)  # f32[4]
// CHECK-NEXT:        del v2
// CHECK-NEXT:        v5 = xp.tanh(v4)  # f32[4]
// CHECK-NEXT:        del v4
// CHECK-NEXT:        v3 = v5
// CHECK-NEXT:        del v5
// CHECK-NEXT:    else:
// CHECK-NEXT:        del v2
// CHECK-NEXT:        v6 = xp.negative(x)  # f32[4]
// CHECK-NEXT:        v3 = v6
// CHECK-NEXT:        del v6
// CHECK-NEXT:    return v3

// Names of dimensions are bound at entry, must be equal, and are sizes where a property names them.
func.func @named(%x: tensor<?x4xf32, "B,*">, %w: tensor<?xf32, "B">) -> tensor<?x4xf32, "B,*"> {
  %o = ptir.iota shape = [B, 4] dtype = f32 axis = 0 : tensor<?x4xf32, "B,*">
  %y = ptir.add %x, %o : tensor<?x4xf32, "B,*">
  func.return %y : tensor<?x4xf32, "B,*">
}
//      CHECK:def named(x, w):
// CHECK-NEXT:    # x: f32[B, 4]
// CHECK-NEXT:    # w: f32[B]
// CHECK-NEXT:    d_B = x.shape[0]
// CHECK-NEXT:    k.expect(w, ('B',), (d_B,))
// CHECK-NEXT:    v2 = k.iota(shape=(d_B, 4), dtype=xp.float32, axis=0)  # f32[B, 4]
// CHECK-NEXT:    v3 = xp.add(x, v2)  # f32[B, 4]
// CHECK-NEXT:    del v2
// CHECK-NEXT:    v4 = k.row_major(v3)  # f32[B, 4]
// CHECK-NEXT:    del v3
// CHECK-NEXT:    return v4

func.func @random() -> tensor<3xbf16> {
  %r = ptir.rng_normal shape = [3] dtype = bf16 : tensor<3xbf16>
  func.return %r : tensor<3xbf16>
}
//      CHECK:def random(*, seed=0):
// CHECK-NEXT:    v0 = k.rng_normal(shape=(3,), dtype=k.dtype('bf16'), ordinal=0, seed=seed)  # bf16[3]
// CHECK-NEXT:    return v0

}
