// RUN: MIND_INVALID

// CHECK: error[E9006]: shape.return: is in func.func, expected shape.func or shape.reduce
// CHECK: = note: VerificationError
func.func @misplaced_return() {
  shape.return
}

// -----

// What is returned has the types of the results.
// CHECK: error[E9009]: shape.return: shape.return passes on (!shape.shape), expected the results of @returned (!shape.size)
// CHECK: = note: TypeError
shape.func @returned(%s: !shape.shape) -> !shape.size {
  return %s : !shape.shape
}

// -----

// CHECK: error[E9005]: shape.func: the body ends in test.op, expected shape.return
// CHECK: = note: VerificationError
shape.func @terminator(%s: !shape.shape) -> !shape.shape {
  "test.op"() : () -> ()
}

// -----

// CHECK: error[E9009]: shape.func: the body takes (!shape.size), expected the inputs (!shape.shape)
// CHECK: = note: TypeError
"shape.func"() <{sym_name = "arguments", function_type = (!shape.shape) -> ()}> ({
^bb0(%s: !shape.size):
  "shape.return"() : () -> ()
}) : () -> ()

// -----

// CHECK: error[E9007]: shape.func: function_type is index, expected a function type
// CHECK: = note: VerificationError
"shape.func"() <{sym_name = "type", function_type = index}> ({
}) : () -> ()

// -----

// CHECK: error[E9007]: shape.func: arg_attrs is [{}, {}], expected a list of 1 dictionaries
// CHECK: = note: VerificationError
"shape.func"() <{sym_name = "attributes", function_type = (index) -> (), arg_attrs = [{}, {}]}> ({
}) : () -> ()

// -----

// CHECK: error[E9007]: shape.func: sym_name is empty, expected a name
// CHECK: = note: VerificationError
"shape.func"() <{sym_name = "", function_type = () -> ()}> ({
}) : () -> ()
// @nameless

// -----

// A library maps ops to functions that it has.
// CHECK: error[E9010]: shape.function_library: maps test.exp to @f, which is no function of the library
// CHECK: = note: VerificationError
shape.function_library @unknown_function {
} mapping {test.exp = @f}

// -----

// CHECK: error[E9012]: shape.function_library: maps test.exp to 1 : i32, expected the name of a function such as @f
// CHECK: = note: VerificationError
shape.function_library @no_name {
} mapping {test.exp = 1 : i32}

// -----

// CHECK: error[E9011]: shape.function_library: has two functions @f
// CHECK: = note: VerificationError
shape.function_library @two_functions {
  shape.func private @f(!shape.value_shape) -> !shape.shape
  shape.func private @f(!shape.value_shape) -> !shape.shape
} mapping {}

// -----

// CHECK: error[E9012]: shape.function_library: holds test.op, expected shape.func only
// CHECK: = note: VerificationError
shape.function_library @other_op {
  "test.op"() : () -> ()
} mapping {}

// -----

// CHECK: error[E9007]: shape.function_library: mapping is 1 : i32, expected a dictionary from ops to functions
// CHECK: = note: VerificationError
"shape.function_library"() <{sym_name = "mapping", mapping = 1 : i32}> ({
^bb0:
}) : () -> ()

// -----

// CHECK: error[E9005]: shape.function_library: the library has 0 blocks, expected 1
// CHECK: = note: VerificationError
"shape.function_library"() <{sym_name = "blocks", mapping = {}}> ({
}) : () -> ()

// -----

// The attribute shape.lib names libraries.
// CHECK: error[E9010]: builtin.module: shape.lib: there is no @library
// CHECK: = note: VerificationError
module @missing attributes {shape.lib = @library} {
}

// -----

// CHECK: error[E9012]: builtin.module: shape.lib: @library is a shape.func, expected a shape.function_library
// CHECK: = note: VerificationError
module @no_library attributes {shape.lib = [@library]} {
  shape.func private @library(!shape.value_shape) -> !shape.shape
}

// -----

// CHECK: error[E9012]: builtin.module: shape.lib: holds 1 : i32, expected the name of a library such as @lib, or a list of them
// CHECK: = note: VerificationError
module @no_names attributes {shape.lib = 1 : i32} {
}

// -----

// CHECK: error[E9012]: test.op: shape.lib: stands on test.op, expected an op that holds symbols, such as a module
// CHECK: = note: VerificationError
module @no_table {
  "test.op"() {shape.lib = @library} : () -> ()
}

// -----

// An op has one shape function.
// CHECK: error[E9011]: builtin.module: shape.lib: test.exp has shape functions in @one and @two, expected one
// CHECK: = note: VerificationError
module @two_for_one attributes {shape.lib = [@one, @two]} {
  shape.function_library @one {
    shape.func private @f(!shape.value_shape) -> !shape.shape
  } mapping {test.exp = @f}
  shape.function_library @two {
    shape.func private @f(!shape.value_shape) -> !shape.shape
  } mapping {test.exp = @f}
}

// -----

// A function does not see what is around it.
// CHECK: error[E4001]: shape.return uses %z from outside of shape.func, whose regions see their arguments only; pass it in
// CHECK: = note: VerificationError
module @isolated {
  %z = "test.op"() : () -> !shape.size
  shape.func @captures() -> !shape.size {
    shape.return %z : !shape.size
  }
}

// -----

// CHECK: error[E9005]: shape.function_library: the library has arguments, expected none
// CHECK: = note: VerificationError
"shape.function_library"() <{sym_name = "arguments", mapping = {}}> ({
^bb0(%s: !shape.size):
}) : () -> ()
