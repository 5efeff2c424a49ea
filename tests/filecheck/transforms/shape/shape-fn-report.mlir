// RUN: mind-opt %s --shape-fn-report --allow-unregistered-dialect --split-input-file | filecheck %s

// `test.exp` is mapped and used, `test.log` mapped only. `test.new` has nothing that gives its shape; `test.fixed` needs nothing, and
// `ptir.tanh` has a rule. What stands in shape functions is not searched.
module attributes {shape.lib = [@library, @more], ptir.spec_version = "ptir.v0.4"} {
  shape.function_library @library {
    func @same(%x: !shape.value_shape) -> !shape.shape {
      %0 = shape_of %x : !shape.value_shape -> !shape.shape
      %1 = "test.inside"(%0) : (!shape.shape) -> tensor<?xindex>
      return %0 : !shape.shape
    }
  } mapping {test.log = @same, test.exp = @same}
  shape.function_library @more {
    func private @declared(!shape.value_shape) -> !shape.shape
  } mapping {test.call = @declared}
  func.func @f(%x: tensor<?xf32, "N">) -> tensor<*xf32> {
    %0 = ptir.tanh %x : tensor<?xf32, "N">
    %1 = "test.exp"(%x) : (tensor<?xf32, "N">) -> tensor<?xf32>
    %2 = "test.fixed"(%1) : (tensor<?xf32>) -> tensor<4xf32>
    %3 = "test.new"(%2) ({
      %4 = "test.nested"() : () -> memref<?xf32>
      "test.end"() : () -> ()
    }) : (tensor<4xf32>) -> tensor<*xf32>
    func.return %3 : tensor<*xf32>
  }
}

// CHECK-LABEL: builtin.module attributes {shape.lib = [@library, @more]
// CHECK-SAME: mind.shape_report = {mapped = {test.call = @more::@declared, test.exp = @library::@same, test.log = @library::@same}, missing = ["test.nested", "test.new"], unused = ["test.call", "test.log"]}}

// -----

// Without libraries everything is missing that has no rule.
module {
  func.func @f(%x: tensor<?xf32>) {
    %0 = "test.exp"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    func.return
  }
}

// CHECK-LABEL: builtin.module attributes {mind.shape_report = {mapped = {}, missing = ["test.exp"], unused = []}}

// -----

// A cast has a rule.
module attributes {shape.lib = @library} {
  shape.function_library @library {
    func @same(%x: !shape.value_shape) -> !shape.shape {
      %0 = shape_of %x : !shape.value_shape -> !shape.shape
      return %0 : !shape.shape
    }
  } mapping {math.exp = @same}
  func.func @f(%x: tensor<4xf32>) -> tensor<?xf32> {
    %0 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
    %1 = math.exp %0 : tensor<?xf32>
    %2 = math.absf %1 : tensor<?xf32>
    func.return %2 : tensor<?xf32>
  }
}

// CHECK-LABEL: builtin.module attributes {shape.lib = @library, mind.shape_report = {mapped = {math.exp = @library::@same}, missing = ["math.absf"], unused = []}}
