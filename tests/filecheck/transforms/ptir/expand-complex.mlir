// RUN: mind-opt %s --ptir-expand-complex --ptir-canonicalize --ptir-cse | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Between the product and the difference nothing is joined; the power takes and gives whole numbers.
// CHECK-LABEL: func.func @product
// CHECK-NEXT:  %y.re = ptir.real %y : tensor<2xcomplex<f32>> -> tensor<2xf32>
// CHECK-NEXT:  %y.im = ptir.imag %y : tensor<2xcomplex<f32>> -> tensor<2xf32>
// CHECK-NEXT:  %x.re = ptir.real %x : tensor<2xcomplex<f32>> -> tensor<2xf32>
// CHECK-NEXT:  %x.im = ptir.imag %x : tensor<2xcomplex<f32>> -> tensor<2xf32>
// CHECK-NEXT:  [[AC:%[a-z0-9_.]+]] = ptir.mul %x.re, %y.re : tensor<2xf32>
// CHECK-NEXT:  [[BD:%[a-z0-9_.]+]] = ptir.mul %x.im, %y.im : tensor<2xf32>
// CHECK-NEXT:  %p.re = ptir.sub [[AC]], [[BD]] : tensor<2xf32>
// CHECK-NEXT:  [[AD:%[a-z0-9_.]+]] = ptir.mul %x.re, %y.im : tensor<2xf32>
// CHECK-NEXT:  [[BC:%[a-z0-9_.]+]] = ptir.mul %x.im, %y.re : tensor<2xf32>
// CHECK-NEXT:  %p.im = ptir.add [[AD]], [[BC]] : tensor<2xf32>
// CHECK-NEXT:  %d.re = ptir.sub %p.re, %x.re : tensor<2xf32>
// CHECK-NEXT:  %d.im = ptir.sub %p.im, %x.im : tensor<2xf32>
// CHECK-NEXT:  %d = ptir.complex %d.re, %d.im : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
// CHECK-NEXT:  %s = ptir.pow %d, %x : tensor<2xcomplex<f32>>
// CHECK-NEXT:  func.return %s : tensor<2xcomplex<f32>>
func.func @product(%x: tensor<2xcomplex<f32>>, %y: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %p = ptir.mul %x, %y : tensor<2xcomplex<f32>>
  %d = ptir.sub %p, %x : tensor<2xcomplex<f32>>
  %s = ptir.pow %d, %x : tensor<2xcomplex<f32>>
  func.return %s : tensor<2xcomplex<f32>>
}

// A dimension without a size: nothing happens.
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT:  %z = ptir.neg %x : tensor<?xcomplex<f32>, "N">
// CHECK-NEXT:  func.return %z : tensor<?xcomplex<f32>, "N">
func.func @unknown(%x: tensor<?xcomplex<f32>, "N">) -> tensor<?xcomplex<f32>, "N"> {
  %z = ptir.neg %x : tensor<?xcomplex<f32>, "N">
  func.return %z : tensor<?xcomplex<f32>, "N">
}
}
