// RUN: mind-opt %s -p "mind-lower-to-native{isa=avx2 launches=true}" | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  // Rows and the rows before them, the first after the last: a kernel before the seam and one after it.
  func.func @back(%x: tensor<8x512xf32>) -> tensor<8x512xf32> {
    %a = ptir.slice %x starts = [7, 0] sizes = [1, 512] : tensor<8x512xf32> -> tensor<1x512xf32>
    %b = ptir.slice %x starts = [0, 0] sizes = [7, 512] : tensor<8x512xf32> -> tensor<7x512xf32>
    %c = ptir.concat %a, %b axis = 0 : (tensor<1x512xf32>, tensor<7x512xf32>) -> tensor<8x512xf32>
    %d = ptir.sub %x, %c : tensor<8x512xf32>
    func.return %d : tensor<8x512xf32>
  }

  // A border of zeros is no memory.
  func.func @border(%x: tensor<7x512xf32>, %y: tensor<8x512xf32>) -> tensor<8x512xf32> {
    %p = ptir.pad %x low = [1, 0] high = [0, 0] interior = [0, 0] pad_value = 0.0 : f32 : tensor<7x512xf32> -> tensor<8x512xf32>
    %d = ptir.sub %y, %p : tensor<8x512xf32>
    func.return %d : tensor<8x512xf32>
  }

  // What is a result, too, is copied together, and so is what is small.
  func.func @result(%x: tensor<8x512xf32>) -> (tensor<8x512xf32>, tensor<8x512xf32>) {
    %a = ptir.slice %x starts = [7, 0] sizes = [1, 512] : tensor<8x512xf32> -> tensor<1x512xf32>
    %b = ptir.slice %x starts = [0, 0] sizes = [7, 512] : tensor<8x512xf32> -> tensor<7x512xf32>
    %c = ptir.concat %a, %b axis = 0 : (tensor<1x512xf32>, tensor<7x512xf32>) -> tensor<8x512xf32>
    %d = ptir.sub %x, %c : tensor<8x512xf32>
    func.return %c, %d : tensor<8x512xf32>, tensor<8x512xf32>
  }

  func.func @small(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %a = ptir.slice %x starts = [7, 0] sizes = [1, 16] : tensor<8x16xf32> -> tensor<1x16xf32>
    %b = ptir.slice %x starts = [0, 0] sizes = [7, 16] : tensor<8x16xf32> -> tensor<7x16xf32>
    %c = ptir.concat %a, %b axis = 0 : (tensor<1x16xf32>, tensor<7x16xf32>) -> tensor<8x16xf32>
    %d = ptir.sub %x, %c : tensor<8x16xf32>
    func.return %d : tensor<8x16xf32>
  }
}

//      CHECK: builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-NEXT:   func.func @back(%x: tensor<8x512xf32>) -> tensor<8x512xf32> {
// CHECK-NEXT:     %x_1 = launch.alloc input 0 : memref<8x512xf32>
// CHECK-NEXT:     %d = launch.alloc output 0 : memref<8x512xf32>
// CHECK-NEXT:     launch.kernel @d.sub(%x_1) -> (%d) schedule "sub over [1, 512]" : (memref<8x512xf32>) -> (memref<8x512xf32>)
// CHECK-NEXT:     launch.kernel @d.sub(%x_1) -> (%d) schedule "sub over [7, 512]" : (memref<8x512xf32>) -> (memref<8x512xf32>)
// CHECK-NEXT:     launch.return %d : memref<8x512xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @border(%x: tensor<7x512xf32>, %y: tensor<8x512xf32>) -> tensor<8x512xf32> {
// CHECK-NEXT:     %x_1 = launch.alloc input 0 : memref<7x512xf32>
// CHECK-NEXT:     %y_1 = launch.alloc input 1 : memref<8x512xf32>
// CHECK-NEXT:     %d = launch.alloc output 0 : memref<8x512xf32>
// CHECK-NEXT:     launch.kernel @d.sub(%y_1) -> (%d) schedule "sub over [1, 512]" : (memref<8x512xf32>) -> (memref<8x512xf32>)
// CHECK-NEXT:     launch.kernel @d.sub(%y_1, %x_1) -> (%d) schedule "sub over [7, 512]" : (memref<8x512xf32>, memref<7x512xf32>) -> (memref<8x512xf32>)
// CHECK-NEXT:     launch.return %d : memref<8x512xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @result(%x: tensor<8x512xf32>) -> (tensor<8x512xf32>, tensor<8x512xf32>) {
// CHECK-NEXT:     %x_1 = launch.alloc input 0 : memref<8x512xf32>
// CHECK-NEXT:     %c = launch.alloc output 0 : memref<8x512xf32>
// CHECK-NEXT:     launch.kernel @a.copy(%x_1) -> (%c) schedule "copy over [1, 512]" : (memref<8x512xf32>) -> (memref<8x512xf32>)
// CHECK-NEXT:     launch.kernel @b.copy(%x_1) -> (%c) schedule "copy over [7, 512]" : (memref<8x512xf32>) -> (memref<8x512xf32>)
// CHECK-NEXT:     %d = launch.alloc output 1 : memref<8x512xf32>
// CHECK-NEXT:     launch.kernel @d.sub(%x_1, %c) -> (%d) inplace [[0, 0], [0, 1]] schedule "sub over [8, 512]" : (memref<8x512xf32>, memref<8x512xf32>) -> (memref<8x512xf32>)
// CHECK-NEXT:     launch.return %c, %d : memref<8x512xf32>, memref<8x512xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @small(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
// CHECK-NEXT:     %x_1 = launch.alloc input 0 : memref<8x16xf32>
// CHECK-NEXT:     %d = launch.alloc output 0 : memref<8x16xf32>
// CHECK-NEXT:     launch.kernel @a.copy(%x_1) -> (%d) schedule "copy over [1, 16]" : (memref<8x16xf32>) -> (memref<8x16xf32>)
// CHECK-NEXT:     launch.kernel @b.copy(%x_1) -> (%d) schedule "copy over [7, 16]" : (memref<8x16xf32>) -> (memref<8x16xf32>)
// CHECK-NEXT:     launch.kernel @d.sub(%x_1, %d) -> (%d) inplace [[0, 0], [0, 1]] schedule "sub over [8, 16]" : (memref<8x16xf32>, memref<8x16xf32>) -> (memref<8x16xf32>)
// CHECK-NEXT:     launch.return %d : memref<8x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
