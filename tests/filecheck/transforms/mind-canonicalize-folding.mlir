// RUN: mind-opt %s -p mind-canonicalize | filecheck %s
// RUN: mind-opt %s --mind-canonicalize="fold-floats=true" | filecheck %s --check-prefix=FLOATS
// RUN: xdsl-opt %s -p "mind-canonicalize{fold-floats=true}" | filecheck %s --check-prefix=FLOATS

// CHECK-LABEL: func.func @integers
// CHECK-NEXT:    %[[C:.*]] = mind.constant [[9, 8], [19, 18]] : tensor<2x2xi32>
// CHECK-NEXT:    func.return %[[C]] : tensor<2x2xi32>
func.func @integers() -> tensor<2x2xi32> {
  %0 = mind.constant [[10], [20]] : tensor<2x1xi32>
  %1 = mind.constant [1, 2] : tensor<2xi32>
  %2 = mind.sub %0, %1 : (tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  func.return %2 : tensor<2x2xi32>
}

// CHECK-LABEL: func.func @a_fill_stays_a_fill
// CHECK-NEXT:    %[[C:.*]] = mind.constant fill 42 : tensor<1000x1000xi64>
// CHECK-NEXT:    func.return %[[C]] : tensor<1000x1000xi64>
func.func @a_fill_stays_a_fill() -> tensor<1000x1000xi64> {
  %0 = mind.constant fill 6 : tensor<1000x1000xi64>
  %1 = mind.const_i64 7 : tensor<i64>
  %2 = mind.mul %0, %1 : (tensor<1000x1000xi64>, tensor<i64>) -> tensor<1000x1000xi64>
  func.return %2 : tensor<1000x1000xi64>
}

// What overflows is computed at run time, where it wraps.
// CHECK-LABEL: func.func @overflow_stays
// CHECK-NEXT:    %[[A:.*]] = mind.const_i64 9223372036854775807 : tensor<i64>
// CHECK-NEXT:    %[[B:.*]] = mind.const_i64 1 : tensor<i64>
// CHECK-NEXT:    %[[C:.*]] = mind.add %[[A]], %[[B]] : tensor<i64>
// CHECK-NEXT:    func.return %[[C]] : tensor<i64>
func.func @overflow_stays() -> tensor<i64> {
  %0 = mind.const_i64 9223372036854775807 : tensor<i64>
  %1 = mind.const_i64 1 : tensor<i64>
  %2 = mind.add %0, %1 : tensor<i64>
  func.return %2 : tensor<i64>
}

// CHECK-LABEL: func.func @floats
// CHECK:         %[[C:.*]] = mind.add %{{.*}}, %{{.*}} : tensor<f32>
// CHECK-NEXT:    func.return %[[C]] : tensor<f32>
// FLOATS-LABEL: func.func @floats
// FLOATS-NEXT:    %[[C:.*]] = mind.const_f32 16777216.0 : tensor<f32>
// FLOATS-NEXT:    func.return %[[C]] : tensor<f32>
func.func @floats() -> tensor<f32> {
  %0 = mind.const_f32 16777216.0 : tensor<f32>
  %1 = mind.const_f32 1.0 : tensor<f32>
  %2 = mind.add %0, %1 : tensor<f32>
  func.return %2 : tensor<f32>
}

// FLOATS-LABEL: func.func @nan_stays
// FLOATS:         %[[C:.*]] = mind.mul %{{.*}}, %{{.*}} : tensor<f64>
// FLOATS-NEXT:    func.return %[[C]] : tensor<f64>
func.func @nan_stays() -> tensor<f64> {
  %0 = mind.const_f64 inf : tensor<f64>
  %1 = mind.const_f64 0.0 : tensor<f64>
  %2 = mind.mul %0, %1 : tensor<f64>
  func.return %2 : tensor<f64>
}
