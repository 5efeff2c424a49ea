// RUN: mind-opt %s -t ptir-json | filecheck %s --check-prefix=JSON
// RUN: mind-opt %s -t ptir-text | filecheck %s --check-prefix=TEXT
// RUN: mind-opt %s -t ptir-json | mind-opt -f ptir-json | filecheck %s
// RUN: mind-opt %s -t ptir-text | mind-opt -f ptir-text | filecheck %s
// Two public forms, written and read back: names of dimensions, tuples, properties that are not stated.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%x: tensor<?x4xf32, "B,*">) -> (tensor<?x2xf32, "B,*">, tensor<?x2xsi32, "B,*">) {
    %e = ptir.exp %x : tensor<?x4xf32, "B,*">
    %v, %i = ptir.top_k %e k = 2 axis = -1 largest = true indices_dtype = si32 : tensor<?x4xf32, "B,*"> -> (tensor<?x2xf32, "B,*">, tensor<?x2xsi32, "B,*">)
    func.return %v, %i : tensor<?x2xf32, "B,*">, tensor<?x2xsi32, "B,*">
  }
}
// CHECK:      func.func @main([[X:%\w+]]: tensor<?x4xf32, "B,*">) -> (tensor<?x2xf32, "B,*">, tensor<?x2xsi32, "B,*">) {
// CHECK-NEXT:   [[E:%\w+]] = ptir.exp [[X]] : tensor<?x4xf32, "B,*">
// CHECK-NEXT:   [[V:%\w+]], [[I:%\w+]] = ptir.top_k [[E]] k = 2 axis = 1 largest = true indices_dtype = si32 : tensor<?x4xf32, "B,*"> -> (tensor<?x2xf32, "B,*">, tensor<?x2xsi32, "B,*">)
// CHECK-NEXT:   func.return [[V]], [[I]]

// JSON:      "spec_version": "ptir.v0.4",
// JSON-NEXT: "entry": "main",
// JSON:      {"Tensor": {"dtype": "F32", "shape": {"dims": [{"Dynamic": "B"}, {"Static": 4}]}}}
// JSON:      "body": [
// JSON-NEXT: {"id": 1, "op": {"ElementwiseUnary": "Exp"}, "operands": [{"Value": 0}], "output": {"Tensor": {"dtype": "F32", "shape": {"dims": [{"Dynamic": "B"}, {"Static": 4}]}}}},
// JSON-NEXT: {"id": 2, "op": {"TopK": {"k": 2, "axis": 1, "largest": true, "indices_dtype": "Si32"}}, "operands": [{"Value": 1}], "output": {"Tuple": [
// JSON:      "result_ids": [2]

// TEXT:      program @main (spec_version = ptir.v0.4) {
// TEXT-NEXT:   func @main {
// TEXT-NEXT:     params:
// TEXT-NEXT:       %0 : tensor<F32 x ?Bx4>
// TEXT-NEXT:     body:
// TEXT-NEXT:       %1 = ElementwiseUnary(Exp)(%0) -> tensor<F32 x ?Bx4>
// TEXT-NEXT:       %2 = TopK(TopKSpec { k: 2, axis: 1, largest: true, indices_dtype: Si32 })(%1) -> tuple<tensor<F32 x ?Bx2>, tensor<Si32 x ?Bx2>>
// TEXT-NEXT:     results:
// TEXT-NEXT:       %2 : tuple<tensor<F32 x ?Bx2>, tensor<Si32 x ?Bx2>>
