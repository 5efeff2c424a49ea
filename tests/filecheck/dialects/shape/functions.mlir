// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

// A function on shapes, its own ops without their prefix, and one that is declared only.
shape.func @same(%x: !shape.value_shape {test.note}, %n: index) -> (!shape.shape, index) attributes {test.kept} {
  %0 = shape_of %x : !shape.value_shape -> !shape.shape
  return %0, %n : !shape.shape, index
}
// CHECK-LABEL: shape.func @same(%x: !shape.value_shape {test.note}, %n: index) -> (!shape.shape, index) attributes {test.kept} {
// CHECK-NEXT:  %0 = shape.shape_of %x : !shape.value_shape -> !shape.shape
// CHECK-NEXT:  shape.return %0, %n : !shape.shape, index
// CHECK-NEXT:  }
// GENERIC: sym_name = "same"
// GENERIC-NEXT:  ^bb0(%x: !shape.value_shape, %n: index):
// GENERIC-NEXT:  %0 = "shape.shape_of"(%x) : (!shape.value_shape) -> !shape.shape
// GENERIC-NEXT:  "shape.return"(%0, %n) : (!shape.shape, index) -> ()

// Declared.
shape.func private @declared(!shape.shape) -> !shape.shape
// CHECK-LABEL: shape.func private @declared(!shape.shape) -> !shape.shape
// GENERIC: sym_name = "declared"

// Without arguments and results.
shape.func @nothing() {
  shape.return
}
// CHECK-LABEL: shape.func @nothing() {
// CHECK-NEXT:  shape.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "nothing"
// GENERIC-NEXT:  "shape.return"() : () -> ()

// A library says which function gives the shape of which op.
shape.function_library @library attributes {test.note = "kept"} {
  func @identity(%x: !shape.value_shape {test.note}) -> !shape.shape {
    %0 = shape_of %x : !shape.value_shape -> !shape.shape
    return %0 : !shape.shape
  }
} mapping {test.exp = @identity, test.log = @identity}
// CHECK-LABEL: shape.function_library @library attributes {test.note = "kept"} {
// CHECK-NEXT:  shape.func @identity(%x: !shape.value_shape {test.note}) -> !shape.shape {
// CHECK-NEXT:  %0 = shape.shape_of %x : !shape.value_shape -> !shape.shape
// CHECK-NEXT:  shape.return %0 : !shape.shape
// CHECK-NEXT:  }
// CHECK-NEXT:  } mapping {test.exp = @identity, test.log = @identity}
// GENERIC: sym_name = "library"
// GENERIC-NEXT:  "shape.func"() <{sym_name = "identity", function_type = (!shape.value_shape) -> !shape.shape, arg_attrs = [{test.note}]}> ({
// GENERIC-NEXT:  ^bb0(%x: !shape.value_shape):
// GENERIC-NEXT:  %0 = "shape.shape_of"(%x) : (!shape.value_shape) -> !shape.shape
// GENERIC-NEXT:  "shape.return"(%0) : (!shape.shape) -> ()
// GENERIC-NEXT:  }) : () -> ()

// One without functions.
shape.function_library @empty {
} mapping {}
// CHECK-LABEL: shape.function_library @empty {
// CHECK-NEXT:  ^bb0:
// CHECK-NEXT:  } mapping {}
// GENERIC: sym_name = "empty"
// GENERIC-NEXT:  ^bb0:

// Names of libraries, one or a list.
module @named attributes {shape.lib = @mine} {
  shape.function_library @mine {
  } mapping {}
}
// CHECK-LABEL: builtin.module @named attributes {shape.lib = @mine} {
// CHECK-NEXT:  shape.function_library @mine {
// CHECK-NEXT:  ^bb0:
// CHECK-NEXT:  } mapping {}
// CHECK-NEXT:  }
// GENERIC: sym_name = "named"
// GENERIC-NEXT:  "shape.function_library"() <{sym_name = "mine", mapping = {}}> ({
// GENERIC-NEXT:  ^bb0:
// GENERIC-NEXT:  }) : () -> ()

// A list.
module @listed attributes {shape.lib = [@one, @two]} {
  shape.function_library @one {
    shape.func @f(%x: !shape.value_shape) -> !shape.shape {
      %0 = shape.shape_of %x : !shape.value_shape -> !shape.shape
      shape.return %0 : !shape.shape
    }
  } mapping {test.exp = @f}
  shape.function_library @two {
  } mapping {}
}
// CHECK-LABEL: builtin.module @listed attributes {shape.lib = [@one, @two]} {
// CHECK-NEXT:  shape.function_library @one {
// CHECK-NEXT:  shape.func @f(%x: !shape.value_shape) -> !shape.shape {
// CHECK-NEXT:  %0 = shape.shape_of %x : !shape.value_shape -> !shape.shape
// CHECK-NEXT:  shape.return %0 : !shape.shape
// CHECK-NEXT:  }
// CHECK-NEXT:  } mapping {test.exp = @f}
// CHECK-NEXT:  shape.function_library @two {
// CHECK-NEXT:  ^bb0:
// CHECK-NEXT:  } mapping {}
// CHECK-NEXT:  }
// GENERIC: sym_name = "listed"
// GENERIC-NEXT:  "shape.function_library"() <{sym_name = "one", mapping = {test.exp = @f}}> ({
// GENERIC-NEXT:  "shape.func"() <{sym_name = "f", function_type = (!shape.value_shape) -> !shape.shape}> ({
// GENERIC-NEXT:  ^bb0(%x: !shape.value_shape):
// GENERIC-NEXT:  %0 = "shape.shape_of"(%x) : (!shape.value_shape) -> !shape.shape
// GENERIC-NEXT:  "shape.return"(%0) : (!shape.shape) -> ()
// GENERIC-NEXT:  }) : () -> ()
// GENERIC-NEXT:  }) : () -> ()
// GENERIC-NEXT:  "shape.function_library"() <{sym_name = "two", mapping = {}}> ({
// GENERIC-NEXT:  ^bb0:
// GENERIC-NEXT:  }) : () -> ()
