// RUN: mind-opt %s -t 'native{isa=avx2 flush-subnormals}' | filecheck %s
// RUN: mind-opt %s -t 'native{isa=neon flush-subnormals=true}' | filecheck %s --check-prefix=NEON
// RUN: mind-opt %s -t 'native{isa=avx2}' | filecheck %s --check-prefix=PLAIN

// The entry sets two bits of MXCSR for the function that does its work, and then what was there before.
// CHECK:       define i64 @run.twice(ptr %buffers) #0 {
// CHECK:         call void @llvm.x86.sse.stmxcsr(ptr [[OLD:%mxcsr\.[0-9]+]])
// CHECK:         [[MODE:%mode\.[0-9]+]] = zext i32 {{%.*}} to i64
// CHECK-NEXT:    [[NEW:%flushing\.[0-9]+]] = or i64 [[MODE]], 32832
// CHECK:         call void @llvm.x86.sse.ldmxcsr
// CHECK-NEXT:    [[STATUS:%status\.[0-9]+]] = call i64 @run.twice.flushing(ptr %buffers)
// CHECK:         trunc i64 [[MODE]] to i32
// CHECK:         call void @llvm.x86.sse.ldmxcsr
// CHECK-NEXT:    ret i64 [[STATUS]]
// CHECK:       define internal i64 @run.twice.flushing(ptr %buffers) #0 {
// CHECK:       attributes #0 = { {{.*}}"denormal-fp-math"="preserve-sign,preserve-sign"

// NEON:        [[MODE:%mode\.[0-9]+]] = call i64 @llvm.aarch64.get.fpcr()
// NEON-NEXT:   [[NEW:%flushing\.[0-9]+]] = or i64 [[MODE]], 16777216
// NEON-NEXT:   call void @llvm.aarch64.set.fpcr(i64 [[NEW]])
// NEON-NEXT:   call i64 @run.twice.flushing
// NEON-NEXT:   call void @llvm.aarch64.set.fpcr(i64 [[MODE]])

// PLAIN-NOT:   mxcsr
// PLAIN-NOT:   denormal
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @twice(%x: tensor<5xf32>) -> tensor<5xf32> {
    %y = ptir.add %x, %x : tensor<5xf32>
    func.return %y : tensor<5xf32>
  }
}
