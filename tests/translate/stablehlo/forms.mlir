module {
  func.func @f(%arg0: tensor<2x3xf32>, %arg1: tensor<3x2xf32>, %arg2: !stablehlo.token, %arg3: tensor<2x2xcomplex<f32>>, %arg4: tensor<4xi32>, %arg5: tensor<ui32>, %arg6: tensor<2xui64>, %arg7: tensor<1x9x2xf32>, %arg8: tensor<3x2x4xf32>) {
    %0 = stablehlo.dot %arg0, %arg1, precision = [DEFAULT, HIGH] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_0 = stablehlo.constant dense<2> : tensor<1xi64>
    %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<2x2xf32>) -> tensor<i32>
    %2 = stablehlo.einsum %arg0, %arg1, config = "ab,bc->ac" : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %3 = stablehlo.unary_einsum %arg0, config = "ab->a" : (tensor<2x3xf32>) -> tensor<2xf32>
    %4 = stablehlo.after_all %arg2, %arg2 : !stablehlo.token
    %5 = stablehlo.create_token : !stablehlo.token
    %6 = stablehlo.cholesky %0, lower = true : tensor<2x2xf32>
    %7 = "stablehlo.triangular_solve"(%0, %0) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %8 = stablehlo.real %arg3 : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
    %9 = stablehlo.complex %8, %8 : tensor<2x2xcomplex<f32>>
    %10 = stablehlo.abs %arg3 : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
    %11:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2x3xf32>, tensor<3x2xf32>
    %12 = stablehlo.partition_id : tensor<ui32>
    %output_state, %output = stablehlo.rng_bit_generator %arg6, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %13 = "stablehlo.torch_index_select"(%arg0, %arg4) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<2x3xf32>, tensor<4xi32>) -> tensor<2x4xf32>
    %14 = stablehlo.tuple %arg0, %arg1 : tuple<tensor<2x3xf32>, tensor<3x2xf32>>
    %15 = stablehlo.get_tuple_element %14[1] : (tuple<tensor<2x3xf32>, tensor<3x2xf32>>) -> tensor<3x2xf32>
    %16 = stablehlo.fft %arg3, type = FFT, length = [2] : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
    %17 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg9: tensor<f32>):
      stablehlo.return %arg9 : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %18 = stablehlo.select %c, %0, %0 : tensor<i1>, tensor<2x2xf32>
    %19 = stablehlo.clamp %cst, %0, %cst : (tensor<f32>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %20 = stablehlo.broadcast %cst, sizes = [2] : (tensor<f32>) -> tensor<2xf32>
    %21 = stablehlo.reduce_precision %0, format = e5m10 : tensor<2x2xf32>
    %22 = stablehlo.rng %cst, %cst, %c_0, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
    %23 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %24 = stablehlo.set_dimension_size %0, %1, dim = 0 : (tensor<2x2xf32>, tensor<i32>) -> tensor<?x2xf32, #stablehlo.bounds<2, ?>>
    %25 = chlo.broadcast_add %0, %cst : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %26 = chlo.broadcast_compare %0, %cst {broadcast_dimensions = array<i64>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xi1>
    %27 = chlo.next_after %0, %0 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
    %values, %indices = chlo.top_k(%0, k = 1) : tensor<2x2xf32> -> (tensor<2x1xf32>, tensor<2x1xi32>)
    %28 = "chlo.constant_like"(%0) <{value = 1.000000e+00 : f32}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %29 = chlo.broadcast_select %c, %0, %cst : (tensor<i1>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %30 = stablehlo.exponential %0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e+00, ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x2xf32>
    %31 = stablehlo.composite "a.b" %0 {composite_attributes = {x = 1 : i32}, decomposition = @g, version = 1 : i32} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %32 = chlo.is_inf %0 : tensor<2x2xf32> -> tensor<2x2xi1>
    %33:2 = stablehlo.custom_call @"a b"(%0) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>)
    %34 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}]> : tensor<2x2xf32>
    %35 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg9: tensor<1x2xf32>) {
      sdy.return %arg9 : tensor<1x2xf32>
    } : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %36 = sdy.named_computation<"foo">(%0) (%arg9: tensor<2x2xf32>) {
      sdy.return %arg9 : tensor<2x2xf32>
    } : (tensor<2x2xf32>) -> tensor<2x2xf32>
    sdy.sharding_group %0 group_id=3 : tensor<2x2xf32>
    %37 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<2x2xf32>
    %38 = stablehlo.reverse %0, dims = [] : tensor<2x2xf32>
    %39 = stablehlo.iota dim = 0 : tensor<2xi32>
    %40 = stablehlo.popcnt %arg4 : tensor<4xi32>
    %41 = stablehlo.replica_id : tensor<ui32>
    %42 = "stablehlo.case"(%1) ({
      stablehlo.return %0 : tensor<2x2xf32>
    }) : (tensor<i32>) -> tensor<2x2xf32>
    %43 = chlo.constant dense<1.000000e+00> : tensor<f32>
    %44 = stablehlo.dynamic_slice %0, %1, %1, sizes = [1, 1] : (tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
    %45 = stablehlo.dynamic_update_slice %0, %44, %1, %1 : (tensor<2x2xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    %46 = stablehlo.compare LT, %0, %0, TOTALORDER : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %47 = stablehlo.while(%iterArg = %0) : tensor<2x2xf32>
    cond {
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return %iterArg : tensor<2x2xf32>
    }
    %48 = stablehlo.convolution(%arg7, %arg8) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 0]], lhs_dilate = [1], rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x2xf32>, tensor<3x2x4xf32>) -> tensor<1x3x4xf32>
    %49 = stablehlo.pad %0, %cst, low = [1, 0], high = [0, -1], interior = [0, 2] : (tensor<2x2xf32>, tensor<f32>) -> tensor<3x3xf32>
    %50 = stablehlo.concatenate %0, %0, dim = 1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
    %51 = stablehlo.slice %arg0 [0:2, 1:3:2] : (tensor<2x3xf32>) -> tensor<2x1xf32>
    %52 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %53 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x4x3xf32>
    %54 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.multiply across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %55:2 = stablehlo.reduce(%arg0 init: %cst), (%arg0 init: %cst) across dimensions = [0] : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
     reducer(%arg9: tensor<f32>, %arg11: tensor<f32>) (%arg10: tensor<f32>, %arg12: tensor<f32>)  {
      %60 = stablehlo.multiply %arg9, %arg11 : tensor<f32>
      stablehlo.return %60, %arg12 : tensor<f32>, tensor<f32>
    }
    %56 = "stablehlo.if"(%c) ({
      stablehlo.return %0 : tensor<2x2xf32>
    }, {
      stablehlo.return %0 : tensor<2x2xf32>
    }) : (tensor<i1>) -> tensor<2x2xf32>
    %57 = stablehlo.dynamic_broadcast_in_dim %cst, %c_0, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
    %58 = stablehlo.dynamic_iota %c_0, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,2.000000e+00)> : tensor<1xcomplex<f32>>
    %59 = stablehlo.dynamic_reshape %20, %c_0 : (tensor<2xf32>, tensor<1xi64>) -> tensor<?xf32>
    return
  }
  func.func private @g(%arg0: tensor<2x2xf32>) -> tensor<2x2xf32> {
    return %arg0 : tensor<2x2xf32>
  }
  sdy.mesh @mesh = <["x"=2, "y"=4]>
}

