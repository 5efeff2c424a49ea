// RUN: mind-opt %s --ptir-canonicalize | filecheck %s
// RUN: mind-opt %s --canonicalize | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// Inside: a slice of x. Outside: the padding alone. Across: less of the padding.
// CHECK-LABEL: func.func @slice_of_pad
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32>)
// CHECK-NEXT:    %[[IN:.*]] = ptir.slice %[[X]] starts = [1] sizes = [3] : tensor<8xf32> -> tensor<3xf32>
// CHECK-NEXT:    %[[OUT:.*]] = ptir.constant fill 2.0 : tensor<3xf32>
// CHECK-NEXT:    %[[LESS:.*]] = ptir.pad %[[X]] low = [1] high = [0] interior = [0] pad_value = 2.0 : f32 : tensor<8xf32> -> tensor<9xf32>
// CHECK-NEXT:    func.return %[[IN]], %[[OUT]], %[[LESS]]
func.func @slice_of_pad(%x: tensor<8xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<9xf32>) {
  %p = ptir.pad %x low = [2] high = [3] interior = [0] pad_value = 2.0 : f32 : tensor<8xf32> -> tensor<13xf32>
  %in = ptir.slice %p starts = [3] sizes = [3] : tensor<13xf32> -> tensor<3xf32>
  %out = ptir.slice %p starts = [10] sizes = [3] : tensor<13xf32> -> tensor<3xf32>
  %less = ptir.slice %p starts = [1] sizes = [9] : tensor<13xf32> -> tensor<9xf32>
  func.return %in, %out, %less : tensor<3xf32>, tensor<3xf32>, tensor<9xf32>
}

// Holes: which elements a slice takes is not a range of x.
// CHECK-LABEL: func.func @slice_of_holes
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32>)
// CHECK-NEXT:    %[[P:.*]] = ptir.pad %[[X]] low = [0] high = [0] interior = [1]
// CHECK-NEXT:    %[[S:.*]] = ptir.slice %[[P]] starts = [3] sizes = [3]
// CHECK-NEXT:    func.return %[[S]]
func.func @slice_of_holes(%x: tensor<8xf32>) -> tensor<3xf32> {
  %p = ptir.pad %x low = [0] high = [0] interior = [1] pad_value = 2.0 : f32 : tensor<8xf32> -> tensor<15xf32>
  %s = ptir.slice %p starts = [3] sizes = [3] : tensor<15xf32> -> tensor<3xf32>
  func.return %s : tensor<3xf32>
}

// CHECK-LABEL: func.func @slice_of_broadcast
// CHECK-SAME:    (%[[X:.*]]: tensor<4x1xf32>)
// CHECK-NEXT:    %[[S:.*]] = ptir.slice %[[X]] starts = [1, 0] sizes = [2, 1] : tensor<4x1xf32> -> tensor<2x1xf32>
// CHECK-NEXT:    %[[B:.*]] = ptir.broadcast_to %[[S]] result_shape = [3, 2, 5] : tensor<2x1xf32> -> tensor<3x2x5xf32>
// CHECK-NEXT:    func.return %[[B]]
func.func @slice_of_broadcast(%x: tensor<4x1xf32>) -> tensor<3x2x5xf32> {
  %b = ptir.broadcast_to %x result_shape = [8, 4, 6] : tensor<4x1xf32> -> tensor<8x4x6xf32>
  %s = ptir.slice %b starts = [4, 1, 1] sizes = [3, 2, 5] : tensor<8x4x6xf32> -> tensor<3x2x5xf32>
  func.return %s : tensor<3x2x5xf32>
}

// CHECK-LABEL: func.func @slice_of_transpose
// CHECK-SAME:    (%[[X:.*]]: tensor<4x6xf32>)
// CHECK-NEXT:    %[[S:.*]] = ptir.slice %[[X]] starts = [0, 1] sizes = [4, 3] : tensor<4x6xf32> -> tensor<4x3xf32>
// CHECK-NEXT:    %[[T:.*]] = ptir.transpose %[[S]] perm = [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
// CHECK-NEXT:    func.return %[[T]]
func.func @slice_of_transpose(%x: tensor<4x6xf32>) -> tensor<3x4xf32> {
  %t = ptir.transpose %x perm = [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %s = ptir.slice %t starts = [1, 0] sizes = [3, 4] : tensor<6x4xf32> -> tensor<3x4xf32>
  func.return %s : tensor<3x4xf32>
}

// The transpose is there for others: two of them would be more work.
// CHECK-LABEL: func.func @slice_of_shared_transpose
// CHECK-SAME:    (%[[X:.*]]: tensor<4x6xf32>)
// CHECK-NEXT:    %[[T:.*]] = ptir.transpose %[[X]]
// CHECK-NEXT:    %[[S:.*]] = ptir.slice %[[T]]
// CHECK-NEXT:    func.return %[[T]], %[[S]]
func.func @slice_of_shared_transpose(%x: tensor<4x6xf32>) -> (tensor<6x4xf32>, tensor<3x4xf32>) {
  %t = ptir.transpose %x perm = [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %s = ptir.slice %t starts = [1, 0] sizes = [3, 4] : tensor<6x4xf32> -> tensor<3x4xf32>
  func.return %t, %s : tensor<6x4xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: func.func @slice_across_concat
// CHECK-SAME:    (%[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<3xf32>, %[[Z:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[S:.*]] = ptir.slice %[[Z]] starts = [0] sizes = [2] : tensor<4xf32> -> tensor<2xf32>
// CHECK-NEXT:    %[[C:.*]] = ptir.concat %[[Y]], %[[S]] axis = 0 : (tensor<3xf32>, tensor<2xf32>) -> tensor<5xf32>
// CHECK-NEXT:    func.return %[[C]]
func.func @slice_across_concat(%x: tensor<2xf32>, %y: tensor<3xf32>, %z: tensor<4xf32>) -> tensor<5xf32> {
  %c = ptir.concat %x, %y, %z axis = 0 : (tensor<2xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<9xf32>
  %s = ptir.slice %c starts = [2] sizes = [5] : tensor<9xf32> -> tensor<5xf32>
  func.return %s : tensor<5xf32>
}

// Adjacent slices are one; with a gap they are not.
// CHECK-LABEL: func.func @concat_of_slices
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32>)
// CHECK-NEXT:    %[[A:.*]] = ptir.slice %[[X]] starts = [1] sizes = [2] : tensor<8xf32> -> tensor<2xf32>
// CHECK-NEXT:    %[[C:.*]] = ptir.slice %[[X]] starts = [6] sizes = [1] : tensor<8xf32> -> tensor<1xf32>
// CHECK-NEXT:    %[[D:.*]] = ptir.slice %[[X]] starts = [1] sizes = [4] : tensor<8xf32> -> tensor<4xf32>
// CHECK-NEXT:    %[[E:.*]] = ptir.concat %[[A]], %[[C]] axis = 0
// CHECK-NEXT:    func.return %[[D]], %[[E]]
func.func @concat_of_slices(%x: tensor<8xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %a = ptir.slice %x starts = [1] sizes = [2] : tensor<8xf32> -> tensor<2xf32>
  %b = ptir.slice %x starts = [3] sizes = [2] : tensor<8xf32> -> tensor<2xf32>
  %c = ptir.slice %x starts = [6] sizes = [1] : tensor<8xf32> -> tensor<1xf32>
  %d = ptir.concat %a, %b axis = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %e = ptir.concat %a, %c axis = 0 : (tensor<2xf32>, tensor<1xf32>) -> tensor<3xf32>
  func.return %d, %e : tensor<4xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @pad_of_pad
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[P:.*]] = ptir.pad %[[X]] low = [3] high = [3] interior = [1] pad_value = 0.0 : f32 : tensor<4xf32> -> tensor<13xf32>
// CHECK-NEXT:    func.return %[[P]]
func.func @pad_of_pad(%x: tensor<4xf32>) -> tensor<13xf32> {
  %p = ptir.pad %x low = [1] high = [3] interior = [1] pad_value = 0.0 : f32 : tensor<4xf32> -> tensor<11xf32>
  %q = ptir.pad %p low = [2] high = [0] interior = [0] pad_value = 0.0 : f32 : tensor<11xf32> -> tensor<13xf32>
  func.return %q : tensor<13xf32>
}

// The gradient of slices that fill an array. Adding +0 keeps -0 out of the result, as the sum did.
// CHECK-LABEL: func.func @sum_of_pads
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<2xf32>)
// CHECK-NEXT:    %[[Z:.*]] = ptir.constant fill 0.0 : tensor<3xf32>
// CHECK-NEXT:    %[[A:.*]] = ptir.add %[[X]], %[[Z]] : tensor<3xf32>
// CHECK-NEXT:    %[[O:.*]] = ptir.constant fill 0.0 : tensor<2xf32>
// CHECK-NEXT:    %[[B:.*]] = ptir.add %[[Y]], %[[O]] : tensor<2xf32>
// CHECK-NEXT:    %[[C:.*]] = ptir.concat %[[A]], %[[B]] axis = 0
// CHECK-NEXT:    func.return %[[C]]
func.func @sum_of_pads(%x: tensor<3xf32>, %y: tensor<2xf32>) -> tensor<5xf32> {
  %p = ptir.pad %x low = [0] high = [2] interior = [0] pad_value = 0.0 : f32 : tensor<3xf32> -> tensor<5xf32>
  %q = ptir.pad %y low = [3] high = [0] interior = [0] pad_value = 0.0 : f32 : tensor<2xf32> -> tensor<5xf32>
  %s = ptir.add %q, %p : tensor<5xf32>
  func.return %s : tensor<5xf32>
}

// Integers wrap, floats round.
// CHECK-LABEL: func.func @sum_of_constants
// CHECK-SAME:    (%[[X:.*]]: tensor<4xsi8>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[C:.*]] = ptir.constant fill -56 : tensor<4xsi8>
// CHECK-NEXT:    %[[A:.*]] = ptir.sub %[[C]], %[[X]] : tensor<4xsi8>
// CHECK-NEXT:    %[[E:.*]] = ptir.constant fill 100.0 : tensor<4xf32>
// CHECK-NEXT:    %[[F:.*]] = ptir.add %[[Y]], %[[E]] : tensor<4xf32>
// CHECK-NEXT:    %[[G:.*]] = ptir.add %[[F]], %[[E]] : tensor<4xf32>
// CHECK-NEXT:    func.return %[[A]], %[[G]]
func.func @sum_of_constants(%x: tensor<4xsi8>, %y: tensor<4xf32>) -> (tensor<4xsi8>, tensor<4xf32>) {
  %c = ptir.constant fill 100 : tensor<4xsi8>
  %a = ptir.sub %c, %x : tensor<4xsi8>
  %b = ptir.add %a, %c : tensor<4xsi8>
  %e = ptir.constant fill 100.0 : tensor<4xf32>
  %f = ptir.add %y, %e : tensor<4xf32>
  %g = ptir.add %f, %e : tensor<4xf32>
  func.return %b, %g : tensor<4xsi8>, tensor<4xf32>
}

// CHECK-LABEL: func.func @reassociate
// CHECK-SAME:    (%[[X:.*]]: tensor<4xui8>)
// CHECK-NEXT:    %[[C:.*]] = ptir.constant fill 144 : tensor<4xui8>
// CHECK-NEXT:    %[[A:.*]] = ptir.mul %[[X]], %[[C]] : tensor<4xui8>
// CHECK-NEXT:    func.return %[[A]]
func.func @reassociate(%x: tensor<4xui8>) -> tensor<4xui8> {
  %c = ptir.constant fill 20 : tensor<4xui8>
  %a = ptir.mul %c, %x : tensor<4xui8>
  %b = ptir.mul %a, %c : tensor<4xui8>
  func.return %b : tensor<4xui8>
}

}
