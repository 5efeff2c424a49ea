// RUN: mind-opt %s -p mind-canonicalize --print-diagnostics | filecheck %s
// RUN: mind-opt %s --mind-canonicalize="skip-mixed" | filecheck %s --check-prefix=SKIP
// RUN: mind-opt %s --canonicalize | filecheck %s --check-prefix=STOCK
// RUN: xdsl-opt %s -p canonicalize | filecheck %s --check-prefix=STOCK

// CHECK: error[E4000]: @mixed is not one flat block of Core IR: found test.op, expected mind ops and func.return

// SKIP-LABEL: func.func @mixed
// SKIP-NEXT:    %[[A:.*]] = mind.neg %{{.*}} : tensor<3xf32>
// SKIP-NEXT:    %[[B:.*]] = mind.neg %[[A]] : tensor<3xf32>
// SKIP-NEXT:    %[[C:.*]] = "test.op"(%[[B]]) : (tensor<3xf32>) -> tensor<3xf32>
// SKIP-NEXT:    func.return %[[C]] : tensor<3xf32>

// STOCK-LABEL: func.func @mixed
// STOCK-SAME:    (%[[X:.*]]: tensor<3xf32>)
// STOCK-NEXT:    %[[C:.*]] = "test.op"(%[[X]]) : (tensor<3xf32>) -> tensor<3xf32>
// STOCK-NEXT:    func.return %[[C]] : tensor<3xf32>
func.func @mixed(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = mind.neg %x : tensor<3xf32>
  %1 = mind.neg %0 : tensor<3xf32>
  %2 = "test.op"(%1) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %2 : tensor<3xf32>
}

// SKIP-LABEL: func.func @pure
// SKIP-SAME:    (%[[X:.*]]: tensor<3xf32>)
// SKIP-NEXT:    func.return %[[X]] : tensor<3xf32>
// STOCK-LABEL: func.func @pure
// STOCK-SAME:    (%[[X:.*]]: tensor<3xf32>)
// STOCK-NEXT:    func.return %[[X]] : tensor<3xf32>
func.func @pure(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = mind.neg %x : tensor<3xf32>
  %1 = mind.neg %0 : tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
