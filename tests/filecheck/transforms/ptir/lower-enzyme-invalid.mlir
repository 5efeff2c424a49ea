// RUN: not mind-opt %s --lower-enzyme --split-input-file --allow-unregistered-dialect 2>&1 | filecheck %s

// CHECK: error[E8002]: enzyme.autodiff @f: argument 0 (%x) has activity enzyme_dup, which is for memory; tensors are values; expected one of enzyme_active, enzyme_const
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_dup>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_activenoneed>, #enzyme<activity enzyme_constnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E8002]: enzyme.fwddiff @f: argument 0 (%x) has activity enzyme_active, which has no meaning here; expected one of enzyme_dup, enzyme_dupnoneed, enzyme_const
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.fwddiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_dupnoneed>, #enzyme<activity enzyme_constnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E8002]: enzyme.autodiff @f: result 1 has activity enzyme_dupnoneed, which is for memory; tensors are values; expected one of enzyme_active, enzyme_activenoneed, enzyme_const, enzyme_constnoneed
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_activenoneed>, #enzyme<activity enzyme_dupnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E5005]: enzyme.autodiff of @f: argument 1 (%n) of type tensor<si32> cannot vary, use enzyme_const
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_active>], ret_activity = [#enzyme<activity enzyme_activenoneed>, #enzyme<activity enzyme_constnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E5005]: enzyme.fwddiff of @f: result 1 of type tensor<si32> cannot vary, use enzyme_const
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.fwddiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_dup>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_dupnoneed>, #enzyme<activity enzyme_dup>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E8002]: enzyme.autodiff @f: activity has 1 entries, expected 2
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>], ret_activity = [#enzyme<activity enzyme_activenoneed>, #enzyme<activity enzyme_constnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E8002]: enzyme.autodiff without ret_activity, expected one activity per result
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E8002]: enzyme.autodiff of @f with width is not supported: vectorize makes batches of derivatives
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_activenoneed>, #enzyme<activity enzyme_constnoneed>], width = 2 : i64} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E8002]: enzyme.autodiff of @f with strong_zero is not supported: our rules multiply by zero as numbers do
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_activenoneed>, #enzyme<activity enzyme_constnoneed>], strong_zero = true} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E2007]: enzyme.autodiff @f has 3 operands, expected 2: %x, %n
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_constnoneed>, #enzyme<activity enzyme_constnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E2001]: enzyme.fwddiff @f: the tangent of %x has type tensor<si32>, expected tensor<f32>
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.fwddiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_dup>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_dupnoneed>, #enzyme<activity enzyme_constnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E2007]: enzyme.autodiff @f has 1 results, its activities ask for 2
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_constnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E2001]: enzyme.autodiff @f: result 0 has type tensor<f64>, expected tensor<f32>
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_activenoneed>, #enzyme<activity enzyme_constnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f64>
  func.return
}
}

// -----

// CHECK: error[E9010]: enzyme.autodiff of @f, expected one of ['@h', '@g']
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @h(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_activenoneed>, #enzyme<activity enzyme_constnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: unknown activity 'enzyme_out', expected one of enzyme_active, enzyme_dup, enzyme_const
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r = enzyme.autodiff @f(%x, %n, %d) {activity = [#enzyme<activity enzyme_out>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_activenoneed>, #enzyme<activity enzyme_constnoneed>]} : (tensor<f32>, tensor<si32>, tensor<f32>) -> tensor<f32>
  func.return
}
}

// -----

// CHECK: error[E4000]: enzyme.batch is not supported, expected enzyme.autodiff or enzyme.fwddiff
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>, %n: tensor<si32>) -> (tensor<f32>, tensor<si32>) {
  %y = ptir.mul %x, %x : tensor<f32>
  func.return %y, %n : tensor<f32>, tensor<si32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  "enzyme.batch"(%x) {fn = @f, batch_shape = array<i64: 4>} : (tensor<f32>) -> ()
  func.return
}
}

// -----

// CHECK: error[E5001]: custom_call
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %d = ptir.custom_call %x target = "a.b.v1" attrs = {} : tensor<f32>
  func.return %d : tensor<f32>
}
func.func @g(%x: tensor<f32>, %n: tensor<si32>, %d: tensor<f32>) {
  %r:2 = enzyme.autodiff @f(%x, %x) {activity = [#enzyme<activity enzyme_active>], ret_activity = [#enzyme<activity enzyme_active>]} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return
}
}

// -----

// CHECK: error[E4000]: @f calls itself or needs its own derivative: @f -> @f
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %d = enzyme.autodiff @f(%x, %x) {activity = [#enzyme<activity enzyme_active>], ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %d : tensor<f32>
}
}

// -----

// CHECK: error[E4000]: @f is neither of PTIR nor of Core IR; convert it with convert-stablehlo-to-ptir
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.multiply %x, %x : tensor<f32>
  func.return %y : tensor<f32>
}
func.func @g(%x: tensor<f32>) -> tensor<f32> {
  %d = enzyme.autodiff @f(%x, %x) {activity = [#enzyme<activity enzyme_active>], ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %d : tensor<f32>
}

// -----

// CHECK: error[E4000]: @f is not of PTIR; convert it with convert-mind-to-ptir
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %y = mind.mul %x, %x : tensor<f32>
  func.return %y : tensor<f32>
}
func.func @g(%x: tensor<f32>) -> tensor<f32> {
  %d = enzyme.fwddiff @f(%x, %x) {activity = [#enzyme<activity enzyme_dup>], ret_activity = [#enzyme<activity enzyme_dupnoneed>]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %d : tensor<f32>
}

// -----

// CHECK: error[E4000]: @f has 0 blocks, expected a body of one block
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func private @f(tensor<f32>) -> tensor<f32>
func.func @g(%x: tensor<f32>) -> tensor<f32> {
  %d = enzyme.autodiff @f(%x, %x) {activity = [#enzyme<activity enzyme_active>], ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %d : tensor<f32>
}
}
