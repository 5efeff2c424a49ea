// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Ops whose places are data. Only the run can see an index that is out of range.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @take(%x: tensor<10x4xbf16>, %i: tensor<2x3xsi64>, %j: tensor<si32>) {
    %a = ptir.take %x, %i : (tensor<10x4xbf16>, tensor<2x3xsi64>) -> tensor<2x3x4xbf16>
    %b = ptir.take %x, %j : (tensor<10x4xbf16>, tensor<si32>) -> tensor<4xbf16>
    func.return
  }
  // CHECK-LABEL: func.func @take(%x: tensor<10x4xbf16>, %i: tensor<2x3xsi64>, %j: tensor<si32>) {
  // CHECK-NEXT:  %a = ptir.take %x, %i : (tensor<10x4xbf16>, tensor<2x3xsi64>) -> tensor<2x3x4xbf16>
  // CHECK-NEXT:  %b = ptir.take %x, %j : (tensor<10x4xbf16>, tensor<si32>) -> tensor<4xbf16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "take"
  // GENERIC-NEXT:  ^bb0(%x: tensor<10x4xbf16>, %i: tensor<2x3xsi64>, %j: tensor<si32>):
  // GENERIC-NEXT:  %a = "ptir.take"(%x, %i) : (tensor<10x4xbf16>, tensor<2x3xsi64>) -> tensor<2x3x4xbf16>
  // GENERIC-NEXT:  %b = "ptir.take"(%x, %j) : (tensor<10x4xbf16>, tensor<si32>) -> tensor<4xbf16>

  func.func @gather(%x: tensor<2x3xf32>, %i: tensor<2x7xsi32>) {
    %a = ptir.gather %x, %i axis = -1 : (tensor<2x3xf32>, tensor<2x7xsi32>) -> tensor<2x7xf32>
    func.return
  }
  // CHECK-LABEL: func.func @gather(%x: tensor<2x3xf32>, %i: tensor<2x7xsi32>) {
  // CHECK-NEXT:  %a = ptir.gather %x, %i axis = -1 : (tensor<2x3xf32>, tensor<2x7xsi32>) -> tensor<2x7xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "gather"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xf32>, %i: tensor<2x7xsi32>):
  // GENERIC-NEXT:  %a = "ptir.gather"(%x, %i) <{axis = -1 : i64}> : (tensor<2x3xf32>, tensor<2x7xsi32>) -> tensor<2x7xf32>

  func.func @scatter_add(%x: tensor<10x4xf32>, %i: tensor<3xsi32>, %u: tensor<3x4xf32>) {
    %a = ptir.scatter_add %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] : (tensor<10x4xf32>, tensor<3xsi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
    func.return
  }
  // CHECK-LABEL: func.func @scatter_add(%x: tensor<10x4xf32>, %i: tensor<3xsi32>, %u: tensor<3x4xf32>) {
  // CHECK-NEXT:  %a = ptir.scatter_add %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] : (tensor<10x4xf32>, tensor<3xsi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "scatter_add"
  // GENERIC-NEXT:  ^bb0(%x: tensor<10x4xf32>, %i: tensor<3xsi32>, %u: tensor<3x4xf32>):
  // GENERIC-NEXT:  %a = "ptir.scatter_add"(%x, %i, %u) <{update_window_dims = array<i64: 1>, inserted_window_dims = array<i64: 0>, scatter_dims_to_operand_dims = array<i64: 0>}> : (tensor<10x4xf32>, tensor<3xsi32>, tensor<3x4xf32>) -> tensor<10x4xf32>

  func.func @scatter_add_vectors(%x: tensor<10x4xf32>, %i: tensor<2x3xsi64>, %u: tensor<3xf32>) {
    %a = ptir.scatter_add %x, %i, %u update_window_dims = [] inserted_window_dims = [0, 1] scatter_dims_to_operand_dims = [1, 0] index_vector_dim = 0 : (tensor<10x4xf32>, tensor<2x3xsi64>, tensor<3xf32>) -> tensor<10x4xf32>
    func.return
  }
  // CHECK-LABEL: func.func @scatter_add_vectors(%x: tensor<10x4xf32>, %i: tensor<2x3xsi64>, %u: tensor<3xf32>) {
  // CHECK-NEXT:  %a = ptir.scatter_add %x, %i, %u update_window_dims = [] inserted_window_dims = [0, 1] scatter_dims_to_operand_dims = [1, 0] index_vector_dim = 0 : (tensor<10x4xf32>, tensor<2x3xsi64>, tensor<3xf32>) -> tensor<10x4xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "scatter_add_vectors"
  // GENERIC-NEXT:  ^bb0(%x: tensor<10x4xf32>, %i: tensor<2x3xsi64>, %u: tensor<3xf32>):
  // GENERIC-NEXT:  %a = "ptir.scatter_add"(%x, %i, %u) <{update_window_dims = array<i64>, inserted_window_dims = array<i64: 0, 1>, scatter_dims_to_operand_dims = array<i64: 1, 0>, index_vector_dim = 0 : i64}> : (tensor<10x4xf32>, tensor<2x3xsi64>, tensor<3xf32>) -> tensor<10x4xf32>

  func.func @scatter_reduce(%x: tensor<2x3xsi8>, %i: tensor<2x7xsi32>, %u: tensor<2x7xsi8>) {
    %a = ptir.scatter_reduce %x, %i, %u kind = add axis = 1 : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
    %b = ptir.scatter_reduce %x, %i, %u kind = max axis = -1 : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
    %c = ptir.scatter_reduce %x, %i, %u kind = min axis = 1 : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
    %d = ptir.scatter_reduce %x, %i, %u kind = replace axis = 1 : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
    func.return
  }
  // CHECK-LABEL: func.func @scatter_reduce(%x: tensor<2x3xsi8>, %i: tensor<2x7xsi32>, %u: tensor<2x7xsi8>) {
  // CHECK-NEXT:  %a = ptir.scatter_reduce %x, %i, %u kind = add axis = 1 : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
  // CHECK-NEXT:  %b = ptir.scatter_reduce %x, %i, %u kind = max axis = -1 : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
  // CHECK-NEXT:  %c = ptir.scatter_reduce %x, %i, %u kind = min axis = 1 : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
  // CHECK-NEXT:  %d = ptir.scatter_reduce %x, %i, %u kind = replace axis = 1 : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "scatter_reduce"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xsi8>, %i: tensor<2x7xsi32>, %u: tensor<2x7xsi8>):
  // GENERIC-NEXT:  %a = "ptir.scatter_reduce"(%x, %i, %u) <{kind = "add", axis = 1 : i64}> : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
  // GENERIC-NEXT:  %b = "ptir.scatter_reduce"(%x, %i, %u) <{kind = "max", axis = -1 : i64}> : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
  // GENERIC-NEXT:  %c = "ptir.scatter_reduce"(%x, %i, %u) <{kind = "min", axis = 1 : i64}> : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>
  // GENERIC-NEXT:  %d = "ptir.scatter_reduce"(%x, %i, %u) <{kind = "replace", axis = 1 : i64}> : (tensor<2x3xsi8>, tensor<2x7xsi32>, tensor<2x7xsi8>) -> tensor<2x3xsi8>

  func.func @dynamic_slice(%x: tensor<8x4xf32>, %i: tensor<2xsi32>) {
    %a = ptir.dynamic_slice %x, %i sizes = [1, 4] : (tensor<8x4xf32>, tensor<2xsi32>) -> tensor<1x4xf32>
    func.return
  }
  // CHECK-LABEL: func.func @dynamic_slice(%x: tensor<8x4xf32>, %i: tensor<2xsi32>) {
  // CHECK-NEXT:  %a = ptir.dynamic_slice %x, %i sizes = [1, 4] : (tensor<8x4xf32>, tensor<2xsi32>) -> tensor<1x4xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "dynamic_slice"
  // GENERIC-NEXT:  ^bb0(%x: tensor<8x4xf32>, %i: tensor<2xsi32>):
  // GENERIC-NEXT:  %a = "ptir.dynamic_slice"(%x, %i) <{sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<2xsi32>) -> tensor<1x4xf32>

  func.func @dynamic_update_slice(%x: tensor<8x4xf32>, %u: tensor<1x4xf32>, %i: tensor<2xsi64>) {
    %a = ptir.dynamic_update_slice %x, %u, %i sizes = [1, 4] : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<2xsi64>) -> tensor<8x4xf32>
    func.return
  }
  // CHECK-LABEL: func.func @dynamic_update_slice(%x: tensor<8x4xf32>, %u: tensor<1x4xf32>, %i: tensor<2xsi64>) {
  // CHECK-NEXT:  %a = ptir.dynamic_update_slice %x, %u, %i sizes = [1, 4] : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<2xsi64>) -> tensor<8x4xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "dynamic_update_slice"
  // GENERIC-NEXT:  ^bb0(%x: tensor<8x4xf32>, %u: tensor<1x4xf32>, %i: tensor<2xsi64>):
  // GENERIC-NEXT:  %a = "ptir.dynamic_update_slice"(%x, %u, %i) <{sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<2xsi64>) -> tensor<8x4xf32>
}
