// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Literals of every dtype: extremes, zeros of both signs, NaN, infinities, fills, none, and raw bytes.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @i1() {
    %a = ptir.constant [true, false] : tensor<2xi1>
    func.return
  }
  // CHECK-LABEL: func.func @i1() {
  // CHECK-NEXT:  %a = ptir.constant [true, false] : tensor<2xi1>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "i1"
  // GENERIC-NEXT:  %a = "ptir.constant"() <{value = #ptir.literal<[true, false] : tensor<2xi1>>}> : () -> tensor<2xi1>

  func.func @signed() {
    %a = ptir.constant [-8, 7] : tensor<2xsi4>
    %b = ptir.constant [-128, 127] : tensor<2xsi8>
    %c = ptir.constant [-32768, 32767] : tensor<2xsi16>
    %d = ptir.constant [-2147483648, 2147483647] : tensor<2xsi32>
    %e = ptir.constant [-9223372036854775808, 9223372036854775807] : tensor<2xsi64>
    func.return
  }
  // CHECK-LABEL: func.func @signed() {
  // CHECK-NEXT:  %a = ptir.constant [-8, 7] : tensor<2xsi4>
  // CHECK-NEXT:  %b = ptir.constant [-128, 127] : tensor<2xsi8>
  // CHECK-NEXT:  %c = ptir.constant [-32768, 32767] : tensor<2xsi16>
  // CHECK-NEXT:  %d = ptir.constant [-2147483648, 2147483647] : tensor<2xsi32>
  // CHECK-NEXT:  %e = ptir.constant [-9223372036854775808, 9223372036854775807] : tensor<2xsi64>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "signed"
  // GENERIC-NEXT:  %a = "ptir.constant"() <{value = #ptir.literal<[-8, 7] : tensor<2xsi4>>}> : () -> tensor<2xsi4>
  // GENERIC-NEXT:  %b = "ptir.constant"() <{value = #ptir.literal<[-128, 127] : tensor<2xsi8>>}> : () -> tensor<2xsi8>
  // GENERIC-NEXT:  %c = "ptir.constant"() <{value = #ptir.literal<[-32768, 32767] : tensor<2xsi16>>}> : () -> tensor<2xsi16>
  // GENERIC-NEXT:  %d = "ptir.constant"() <{value = #ptir.literal<[-2147483648, 2147483647] : tensor<2xsi32>>}> : () -> tensor<2xsi32>
  // GENERIC-NEXT:  %e = "ptir.constant"() <{value = #ptir.literal<[-9223372036854775808, 9223372036854775807] : tensor<2xsi64>>}> : () -> tensor<2xsi64>

  func.func @unsigned() {
    %a = ptir.constant [0, 15] : tensor<2xui4>
    %b = ptir.constant [0, 255] : tensor<2xui8>
    %c = ptir.constant [0, 65535] : tensor<2xui16>
    %d = ptir.constant [0, 4294967295] : tensor<2xui32>
    %e = ptir.constant [0, 18446744073709551615] : tensor<2xui64>
    func.return
  }
  // CHECK-LABEL: func.func @unsigned() {
  // CHECK-NEXT:  %a = ptir.constant [0, 15] : tensor<2xui4>
  // CHECK-NEXT:  %b = ptir.constant [0, 255] : tensor<2xui8>
  // CHECK-NEXT:  %c = ptir.constant [0, 65535] : tensor<2xui16>
  // CHECK-NEXT:  %d = ptir.constant [0, 4294967295] : tensor<2xui32>
  // CHECK-NEXT:  %e = ptir.constant [0, 18446744073709551615] : tensor<2xui64>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "unsigned"
  // GENERIC-NEXT:  %a = "ptir.constant"() <{value = #ptir.literal<[0, 15] : tensor<2xui4>>}> : () -> tensor<2xui4>
  // GENERIC-NEXT:  %b = "ptir.constant"() <{value = #ptir.literal<[0, 255] : tensor<2xui8>>}> : () -> tensor<2xui8>
  // GENERIC-NEXT:  %c = "ptir.constant"() <{value = #ptir.literal<[0, 65535] : tensor<2xui16>>}> : () -> tensor<2xui16>
  // GENERIC-NEXT:  %d = "ptir.constant"() <{value = #ptir.literal<[0, 4294967295] : tensor<2xui32>>}> : () -> tensor<2xui32>
  // GENERIC-NEXT:  %e = "ptir.constant"() <{value = #ptir.literal<[0, 18446744073709551615] : tensor<2xui64>>}> : () -> tensor<2xui64>

  // The shortest number that reads as the same bits: 450.0 is 448, the greatest of e4m3, which has no infinity.
  func.func @floats() {
    %a = ptir.constant [450.0, -450.0, -0.0, 0.002, nan] : tensor<5xf8E4M3FN>
    %b = ptir.constant [60000.0, -0.0, 2.0e-05, inf, -inf, nan] : tensor<6xf8E5M2>
    %c = ptir.constant [1.01, -0.0, 9.0e-41, inf, -inf, nan] : tensor<6xbf16>
    %d = ptir.constant [65500.0, -0.0, 5.96e-08, inf, -inf, nan] : tensor<6xf16>
    %e = ptir.constant [0.1, -0.0, 1.4013e-45, inf, -inf, nan] : tensor<6xf32>
    %f = ptir.constant [0.1, -0.0, 5.0e-324, 1.7976931348623157e+308, inf, -inf, nan] : tensor<7xf64>
    func.return
  }
  // CHECK-LABEL: func.func @floats() {
  // CHECK-NEXT:  %a = ptir.constant [450.0, -450.0, -0.0, 0.002, nan] : tensor<5xf8E4M3FN>
  // CHECK-NEXT:  %b = ptir.constant [60000.0, -0.0, 2.0e-05, inf, -inf, nan] : tensor<6xf8E5M2>
  // CHECK-NEXT:  %c = ptir.constant [1.01, -0.0, 9.0e-41, inf, -inf, nan] : tensor<6xbf16>
  // CHECK-NEXT:  %d = ptir.constant [65500.0, -0.0, 5.96e-08, inf, -inf, nan] : tensor<6xf16>
  // CHECK-NEXT:  %e = ptir.constant [0.1, -0.0, 1.4013e-45, inf, -inf, nan] : tensor<6xf32>
  // CHECK-NEXT:  %f = ptir.constant [0.1, -0.0, 5.0e-324, 1.7976931348623157e+308, inf, -inf, nan] : tensor<7xf64>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "floats"
  // GENERIC-NEXT:  %a = "ptir.constant"() <{value = #ptir.literal<[450.0, -450.0, -0.0, 0.002, nan] : tensor<5xf8E4M3FN>>}> : () -> tensor<5xf8E4M3FN>
  // GENERIC-NEXT:  %b = "ptir.constant"() <{value = #ptir.literal<[60000.0, -0.0, 2.0e-05, inf, -inf, nan] : tensor<6xf8E5M2>>}> : () -> tensor<6xf8E5M2>
  // GENERIC-NEXT:  %c = "ptir.constant"() <{value = #ptir.literal<[1.01, -0.0, 9.0e-41, inf, -inf, nan] : tensor<6xbf16>>}> : () -> tensor<6xbf16>
  // GENERIC-NEXT:  %d = "ptir.constant"() <{value = #ptir.literal<[65500.0, -0.0, 5.96e-08, inf, -inf, nan] : tensor<6xf16>>}> : () -> tensor<6xf16>
  // GENERIC-NEXT:  %e = "ptir.constant"() <{value = #ptir.literal<[0.1, -0.0, 1.4013e-45, inf, -inf, nan] : tensor<6xf32>>}> : () -> tensor<6xf32>
  // GENERIC-NEXT:  %f = "ptir.constant"() <{value = #ptir.literal<[0.1, -0.0, 5.0e-324, 1.7976931348623157e+308, inf, -inf, nan] : tensor<7xf64>>}> : () -> tensor<7xf64>

  func.func @complex() {
    %a = ptir.constant [(1.0, -0.0), (nan, inf), (-inf, 0.1)] : tensor<3xcomplex<f32>>
    %b = ptir.constant [(0.1, -0.0), (nan, inf), (-inf, 5.0e-324)] : tensor<3xcomplex<f64>>
    %c = ptir.constant (0.1, nan) : tensor<complex<f64>>
    func.return
  }
  // CHECK-LABEL: func.func @complex() {
  // CHECK-NEXT:  %a = ptir.constant [(1.0, -0.0), (nan, inf), (-inf, 0.1)] : tensor<3xcomplex<f32>>
  // CHECK-NEXT:  %b = ptir.constant [(0.1, -0.0), (nan, inf), (-inf, 5.0e-324)] : tensor<3xcomplex<f64>>
  // CHECK-NEXT:  %c = ptir.constant (0.1, nan) : tensor<complex<f64>>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "complex"
  // GENERIC-NEXT:  %a = "ptir.constant"() <{value = #ptir.literal<[(1.0, -0.0), (nan, inf), (-inf, 0.1)] : tensor<3xcomplex<f32>>>}> : () -> tensor<3xcomplex<f32>>
  // GENERIC-NEXT:  %b = "ptir.constant"() <{value = #ptir.literal<[(0.1, -0.0), (nan, inf), (-inf, 5.0e-324)] : tensor<3xcomplex<f64>>>}> : () -> tensor<3xcomplex<f64>>
  // GENERIC-NEXT:  %c = "ptir.constant"() <{value = #ptir.literal<(0.1, nan) : tensor<complex<f64>>>}> : () -> tensor<complex<f64>>

  // One element stands for all; the text does not grow with the shape.
  func.func @fills() {
    %a = ptir.constant fill nan : tensor<1000x1000xbf16>
    %b = ptir.constant fill -inf : tensor<1000000xf32>
    %c = ptir.constant fill true : tensor<64x64xi1>
    %d = ptir.constant fill (1.0, -1.0) : tensor<9xcomplex<f32>>
    %e = ptir.constant fill -8 : tensor<2xsi4>
    func.return
  }
  // CHECK-LABEL: func.func @fills() {
  // CHECK-NEXT:  %a = ptir.constant fill nan : tensor<1000x1000xbf16>
  // CHECK-NEXT:  %b = ptir.constant fill -inf : tensor<1000000xf32>
  // CHECK-NEXT:  %c = ptir.constant fill true : tensor<64x64xi1>
  // CHECK-NEXT:  %d = ptir.constant fill (1.0, -1.0) : tensor<9xcomplex<f32>>
  // CHECK-NEXT:  %e = ptir.constant fill -8 : tensor<2xsi4>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "fills"
  // GENERIC-NEXT:  %a = "ptir.constant"() <{value = #ptir.literal<fill nan : tensor<1000x1000xbf16>>}> : () -> tensor<1000x1000xbf16>
  // GENERIC-NEXT:  %b = "ptir.constant"() <{value = #ptir.literal<fill -inf : tensor<1000000xf32>>}> : () -> tensor<1000000xf32>
  // GENERIC-NEXT:  %c = "ptir.constant"() <{value = #ptir.literal<fill true : tensor<64x64xi1>>}> : () -> tensor<64x64xi1>
  // GENERIC-NEXT:  %d = "ptir.constant"() <{value = #ptir.literal<fill (1.0, -1.0) : tensor<9xcomplex<f32>>>}> : () -> tensor<9xcomplex<f32>>
  // GENERIC-NEXT:  %e = "ptir.constant"() <{value = #ptir.literal<fill -8 : tensor<2xsi4>>}> : () -> tensor<2xsi4>

  // Rank 0, one element, nested brackets, and no elements at all.
  func.func @shapes() {
    %a = ptir.constant -7 : tensor<si32>
    %b = ptir.constant [[1.5]] : tensor<1x1xf32>
    %c = ptir.constant [[[1, 2], [3, 4]], [[5, 6], [7, 8]]] : tensor<2x2x2xui8>
    %d = ptir.constant "0x" : tensor<0x3xf32>
    func.return
  }
  // CHECK-LABEL: func.func @shapes() {
  // CHECK-NEXT:  %a = ptir.constant -7 : tensor<si32>
  // CHECK-NEXT:  %b = ptir.constant {{\[\[}}1.5]] : tensor<1x1xf32>
  // CHECK-NEXT:  %c = ptir.constant {{\[\[}}[1, 2], [3, 4]], {{\[\[}}5, 6], [7, 8]]] : tensor<2x2x2xui8>
  // CHECK-NEXT:  %d = ptir.constant "0x" : tensor<0x3xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "shapes"
  // GENERIC-NEXT:  %a = "ptir.constant"() <{value = #ptir.literal<-7 : tensor<si32>>}> : () -> tensor<si32>
  // GENERIC-NEXT:  %b = "ptir.constant"() <{value = #ptir.literal<{{\[\[}}1.5]] : tensor<1x1xf32>>}> : () -> tensor<1x1xf32>
  // GENERIC-NEXT:  %c = "ptir.constant"() <{value = #ptir.literal<{{\[\[}}[1, 2], [3, 4]], {{\[\[}}5, 6], [7, 8]]] : tensor<2x2x2xui8>>}> : () -> tensor<2x2x2xui8>
  // GENERIC-NEXT:  %d = "ptir.constant"() <{value = #ptir.literal<"0x" : tensor<0x3xf32>>}> : () -> tensor<0x3xf32>

  // A NaN of unusual bits keeps them, as bytes in hexadecimal.
  func.func @bits() {
    %a = ptir.constant "0x0100C07F" : tensor<f32>
    func.return
  }
  // CHECK-LABEL: func.func @bits() {
  // CHECK-NEXT:  %a = ptir.constant "0x0100C07F" : tensor<f32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "bits"
  // GENERIC-NEXT:  %a = "ptir.constant"() <{value = #ptir.literal<"0x0100C07F" : tensor<f32>>}> : () -> tensor<f32>

  // Literals in properties have the dtype of the operand.
  func.func @scalars(%x: tensor<2xf32>, %i: tensor<2xui4>, %z: tensor<2xcomplex<f64>>) {
    %a = ptir.pad %x low = [1] high = [0] interior = [0] pad_value = -inf : f32 : tensor<2xf32> -> tensor<3xf32>
    %b = ptir.pad %i low = [1] high = [0] interior = [0] pad_value = 15 : ui4 : tensor<2xui4> -> tensor<3xui4>
    %c = ptir.pad %z low = [1] high = [0] interior = [0] pad_value = (nan, -0.0) : complex<f64> : tensor<2xcomplex<f64>> -> tensor<3xcomplex<f64>>
    func.return
  }
  // CHECK-LABEL: func.func @scalars(%x: tensor<2xf32>, %i: tensor<2xui4>, %z: tensor<2xcomplex<f64>>) {
  // CHECK-NEXT:  %a = ptir.pad %x low = [1] high = [0] interior = [0] pad_value = -inf : f32 : tensor<2xf32> -> tensor<3xf32>
  // CHECK-NEXT:  %b = ptir.pad %i low = [1] high = [0] interior = [0] pad_value = 15 : ui4 : tensor<2xui4> -> tensor<3xui4>
  // CHECK-NEXT:  %c = ptir.pad %z low = [1] high = [0] interior = [0] pad_value = (nan, -0.0) : complex<f64> : tensor<2xcomplex<f64>> -> tensor<3xcomplex<f64>>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "scalars"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2xf32>, %i: tensor<2xui4>, %z: tensor<2xcomplex<f64>>):
  // GENERIC-NEXT:  %a = "ptir.pad"(%x) <{low = array<i64: 1>, high = array<i64: 0>, interior = array<i64: 0>, pad_value = #ptir.literal<-inf : tensor<f32>>}> : (tensor<2xf32>) -> tensor<3xf32>
  // GENERIC-NEXT:  %b = "ptir.pad"(%i) <{low = array<i64: 1>, high = array<i64: 0>, interior = array<i64: 0>, pad_value = #ptir.literal<15 : tensor<ui4>>}> : (tensor<2xui4>) -> tensor<3xui4>
  // GENERIC-NEXT:  %c = "ptir.pad"(%z) <{low = array<i64: 1>, high = array<i64: 0>, interior = array<i64: 0>, pad_value = #ptir.literal<(nan, -0.0) : tensor<complex<f64>>>}> : (tensor<2xcomplex<f64>>) -> tensor<3xcomplex<f64>>
}
