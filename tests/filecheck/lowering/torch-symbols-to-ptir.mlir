// RUN: mind-opt %s --convert-stablehlo-to-ptir --allow-unregistered-dialect | filecheck %s

// Symbols of torch-mlir are names of dimensions, maps of them expressions, ranges declarations.
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %s = "torch.symbolic_int"() <{symbol_name = "T", min_val = 2 : i64, max_val = 1024 : i64}> : () -> !torch.int
  "torch.bind_symbolic_shape"(%x, %s) <{shape_expressions = affine_map<()[s0] -> (s0, 4)>}> : (tensor<?x4xf32>, !torch.int) -> ()
  "torch.bind_symbolic_shape"(%y, %s) <{shape_expressions = affine_map<()[s0] -> (s0 * 2 + 1, 4)>}> : (tensor<?x4xf32>, !torch.int) -> ()
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @f(%x: tensor<?x4xf32, "T,*">, %y: tensor<?x4xf32, "2*T+1,*">) -> tensor<?x4xf32, "3*T+1,*"> attributes {mind.dims = ["T <= 1024"]} {
// CHECK-NEXT:    %0 = ptir.concat %x, %y axis = 0
