// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// The same bits under another dtype, and the low bits of an integer.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @bitcast(%x: tensor<2x?xf32, "*,B">, %y: tensor<3xui4>) {
    %a = ptir.bitcast %x dtype = ui32 : tensor<2x?xf32, "*,B"> -> tensor<2x?xui32, "*,B">
    %b = ptir.bitcast %y dtype = si4 : tensor<3xui4> -> tensor<3xsi4>
    func.return
  }
  // CHECK-LABEL: func.func @bitcast(%x: tensor<2x?xf32, "*,B">, %y: tensor<3xui4>) {
  // CHECK-NEXT:  %a = ptir.bitcast %x dtype = ui32 : tensor<2x?xf32, "*,B"> -> tensor<2x?xui32, "*,B">
  // CHECK-NEXT:  %b = ptir.bitcast %y dtype = si4 : tensor<3xui4> -> tensor<3xsi4>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "bitcast"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x?xf32, "*,B">, %y: tensor<3xui4>):
  // GENERIC-NEXT:  %a = "ptir.bitcast"(%x) <{dtype = ui32}> : (tensor<2x?xf32, "*,B">) -> tensor<2x?xui32, "*,B">
  // GENERIC-NEXT:  %b = "ptir.bitcast"(%y) <{dtype = si4}> : (tensor<3xui4>) -> tensor<3xsi4>

  func.func @truncate(%x: tensor<2xsi32>) {
    %a = ptir.truncate %x dtype = ui8 : tensor<2xsi32> -> tensor<2xui8>
    %b = ptir.truncate %a dtype = si64 : tensor<2xui8> -> tensor<2xsi64>
    func.return
  }
  // CHECK-LABEL: func.func @truncate(%x: tensor<2xsi32>) {
  // CHECK-NEXT:  %a = ptir.truncate %x dtype = ui8 : tensor<2xsi32> -> tensor<2xui8>
  // CHECK-NEXT:  %b = ptir.truncate %a dtype = si64 : tensor<2xui8> -> tensor<2xsi64>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "truncate"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2xsi32>):
  // GENERIC-NEXT:  %a = "ptir.truncate"(%x) <{dtype = ui8}> : (tensor<2xsi32>) -> tensor<2xui8>
  // GENERIC-NEXT:  %b = "ptir.truncate"(%a) <{dtype = si64}> : (tensor<2xui8>) -> tensor<2xsi64>
}
