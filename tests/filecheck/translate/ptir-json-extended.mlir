// RUN: mind-opt %s -t ptir-json | filecheck %s
// RUN: mind-opt %s -t ptir-json | mind-opt -f ptir-json | filecheck %s --check-prefix=BACK
// RUN: not mind-opt %s -t 'ptir-json{strict=true}' 2>&1 | filecheck %s --check-prefix=STRICT

// The extended form has expressions as dimensions and bounds, and what functions declare; strict refuses them.
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<?x3xf32, "P+T,*">, %p: tensor<?xf32, "P">) -> tensor<?x3xf32, "T,*"> attributes {mind.dims = ["T in 1..1024"]} {
    %0 = ptir.slice %x starts = [P, 0] sizes = [T, 3] : tensor<?x3xf32, "P+T,*"> -> tensor<?x3xf32, "T,*">
    func.return %0 : tensor<?x3xf32, "T,*">
  }
}

// CHECK: {"Dynamic": "P+T"}
// CHECK: "starts": [{"Dynamic": "P"}, 0], "sizes": [{"Dynamic": "T"}, 3]
// CHECK: "dims": ["T in 1..1024"]

// BACK-LABEL: func.func @f(%0: tensor<?x3xf32, "P+T,*">, %1: tensor<?xf32, "P">) -> tensor<?x3xf32, "T,*"> attributes {mind.dims = ["T in 1..1024"]} {
// BACK-NEXT:    %2 = ptir.slice %0 starts = [P, 0] sizes = [T, 3] : tensor<?x3xf32, "P+T,*"> -> tensor<?x3xf32, "T,*">

// STRICT: error[E4000]: @f declares sizes in mind.dims, which this form cannot express
