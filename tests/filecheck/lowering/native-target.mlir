// RUN: mind-opt %s -t 'native{isa=avx2}' | filecheck %s
// RUN: mind-opt %s --lower-to-native=isa=avx2 | filecheck %s --check-prefix=FUSED

// One group is one function; lanes along the last axis, the rest of a row by mask; a sort of 4-bit numbers runs on NumPy and ends the entry.
// CHECK:       ; @chain on avx2: 1 native kernel, 1 op on NumPy, arena 0 bytes
// CHECK-NEXT:  ; native  @k.y.add_mul: add mul over [4, 11]
// CHECK-NEXT:  ; numpy   sort %z of si4[11]: kernels do not support si4
// CHECK:       define internal i64 @k.y.add_mul(ptr %args, i64 %begin, i64 %end) #0 {
// CHECK:         [[X:%x\.[0-9]+]] = load <8 x float>, ptr {{%.*}}, align 4
// CHECK-NEXT:    [[B:%bb\.[0-9]+]] = load <8 x float>, ptr {{%.*}}, align 4
// CHECK-NEXT:    [[S:%s\.[0-9]+]] = fadd <8 x float> [[X]], [[B]]
// CHECK-NEXT:    [[Y:%y\.[0-9]+]] = fmul <8 x float> [[S]], [[X]]
// CHECK-NEXT:    store <8 x float> [[Y]], ptr {{%.*}}, align 4
// CHECK:         call <8 x float> @llvm.masked.load.v8f32.p0
// CHECK:       define i64 @run.chain(ptr %buffers) #0 {
// CHECK-NEXT:  entry:
// CHECK-NEXT:    [[ARGS:%args\.[0-9]+]] = alloca [4 x ptr], align 64
// CHECK:         [[STATUS:%status\.[0-9]+]] = call i64 @k.y.add_mul(ptr [[ARGS]], i64 0, i64 4)
// CHECK-NEXT:    ret i64 0

// Steps of one structure share a function: the names of what they work on are none of it.
// CHECK:       ; @shared on avx2: 2 native kernels, 0 ops on NumPy, arena 0 bytes
// CHECK-NEXT:  ; native  @k.a.reduce: reduce over [4, 4]
// CHECK-NEXT:  ; native  @k.a.reduce: reduce over [4, 4]
// CHECK:       define internal i64 @k.a.reduce(ptr
// CHECK-NOT:   define internal
// CHECK:       call i64 @k.a.reduce(ptr
// CHECK:       call i64 @k.a.reduce(ptr

// FUSED-LABEL: @chain
// FUSED:         [[Y:%[a-z]+]] = ptir.fusion %x, %b : (tensor<4x11xf32>, tensor<11xf32>) -> tensor<4x11xf32> body {
// FUSED:         [[Z:%[a-z]+]] = ptir.sort %k axis = 0 descending = false : tensor<11xsi4>
// FUSED-NEXT:    func.return [[Y]], [[Z]]
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @chain(%x: tensor<4x11xf32>, %b: tensor<11xf32>, %k: tensor<11xsi4>) -> (tensor<4x11xf32>, tensor<11xsi4>) {
    %bb = ptir.broadcast_to %b result_shape = [4, 11] : tensor<11xf32> -> tensor<4x11xf32>
    %s = ptir.add %x, %bb : tensor<4x11xf32>
    %y = ptir.mul %s, %x : tensor<4x11xf32>
    %z = ptir.sort %k axis = 0 descending = false : tensor<11xsi4>
    func.return %y, %z : tensor<4x11xf32>, tensor<11xsi4>
  }

  func.func @shared(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %a = ptir.reduce %x kind = sum axes = [1] keepdims = false : tensor<4x4xf32> -> tensor<4xf32>
    %b = ptir.reduce %y kind = sum axes = [1] keepdims = false : tensor<4x4xf32> -> tensor<4xf32>
    func.return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}
