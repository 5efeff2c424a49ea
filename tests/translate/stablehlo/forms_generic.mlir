"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3xf32>, tensor<3x2xf32>, !stablehlo.token, tensor<2x2xcomplex<f32>>, tensor<4xi32>, tensor<ui32>, tensor<2xui64>, tensor<1x9x2xf32>, tensor<3x2x4xf32>) -> (), sym_name = "f"}> ({
  ^bb0(%arg1: tensor<2x3xf32>, %arg2: tensor<3x2xf32>, %arg3: !stablehlo.token, %arg4: tensor<2x2xcomplex<f32>>, %arg5: tensor<4xi32>, %arg6: tensor<ui32>, %arg7: tensor<2xui64>, %arg8: tensor<1x9x2xf32>, %arg9: tensor<3x2x4xf32>):
    %0 = "stablehlo.dot"(%arg1, %arg2) <{precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %1 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %2 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.constant"() <{value = dense<2> : tensor<1xi64>}> : () -> tensor<1xi64>
    %4 = "stablehlo.get_dimension_size"(%0) <{dimension = 0 : i64}> : (tensor<2x2xf32>) -> tensor<i32>
    %5 = "stablehlo.einsum"(%arg1, %arg2) <{einsum_config = "ab,bc->ac"}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %6 = "stablehlo.unary_einsum"(%arg1) <{einsum_config = "ab->a"}> : (tensor<2x3xf32>) -> tensor<2xf32>
    %7 = "stablehlo.after_all"(%arg3, %arg3) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    %8 = "stablehlo.create_token"() : () -> !stablehlo.token
    %9 = "stablehlo.cholesky"(%0) <{lower = true}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %10 = "stablehlo.triangular_solve"(%0, %0) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %11 = "stablehlo.real"(%arg4) : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
    %12 = "stablehlo.complex"(%11, %11) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xcomplex<f32>>
    %13 = "stablehlo.abs"(%arg4) : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
    %14:2 = "stablehlo.optimization_barrier"(%arg1, %arg2) : (tensor<2x3xf32>, tensor<3x2xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>)
    %15 = "stablehlo.partition_id"() : () -> tensor<ui32>
    %16:2 = "stablehlo.rng_bit_generator"(%arg7) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %17 = "stablehlo.torch_index_select"(%arg1, %arg5) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<2x3xf32>, tensor<4xi32>) -> tensor<2x4xf32>
    %18 = "stablehlo.tuple"(%arg1, %arg2) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tuple<tensor<2x3xf32>, tensor<3x2xf32>>
    %19 = "stablehlo.get_tuple_element"(%18) <{index = 1 : i32}> : (tuple<tensor<2x3xf32>, tensor<3x2xf32>>) -> tensor<3x2xf32>
    %20 = "stablehlo.fft"(%arg4) <{fft_length = array<i64: 2>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
    %21 = "stablehlo.map"(%arg1) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg20: tensor<f32>):
      "stablehlo.return"(%arg20) : (tensor<f32>) -> ()
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %22 = "stablehlo.select"(%1, %0, %0) : (tensor<i1>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %23 = "stablehlo.clamp"(%2, %0, %2) : (tensor<f32>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %24 = "stablehlo.broadcast"(%2) <{broadcast_sizes = array<i64: 2>}> : (tensor<f32>) -> tensor<2xf32>
    %25 = "stablehlo.reduce_precision"(%0) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %26 = "stablehlo.rng"(%2, %2, %3) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
    %27 = "stablehlo.dot_general"(%arg1, %arg2) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %28 = "stablehlo.set_dimension_size"(%0, %4) <{dimension = 0 : i64}> : (tensor<2x2xf32>, tensor<i32>) -> tensor<?x2xf32, #stablehlo.bounds<2, ?>>
    %29 = "chlo.broadcast_add"(%0, %2) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %30 = "chlo.broadcast_compare"(%0, %2) <{broadcast_dimensions = array<i64>, comparison_direction = #chlo<comparison_direction LT>}> : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xi1>
    %31 = "chlo.next_after"(%0, %0) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %32:2 = "chlo.top_k"(%0) <{k = 1 : i64}> : (tensor<2x2xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
    %33 = "chlo.constant_like"(%0) <{value = 1.000000e+00 : f32}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %34 = "chlo.broadcast_select"(%1, %0, %2) : (tensor<i1>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %35 = "stablehlo.exponential"(%0) <{result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e+00, ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %36 = "stablehlo.composite"(%0) <{composite_attributes = {x = 1 : i32}, decomposition = @g, name = "a.b", version = 1 : i32}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %37 = "chlo.is_inf"(%0) : (tensor<2x2xf32>) -> tensor<2x2xi1>
    %38:2 = "stablehlo.custom_call"(%0) <{call_target_name = "a b"}> : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>)
    %39 = "sdy.sharding_constraint"(%0) <{sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %40 = "sdy.manual_computation"(%0) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}> ({
    ^bb0(%arg19: tensor<1x2xf32>):
      "sdy.return"(%arg19) : (tensor<1x2xf32>) -> ()
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %41 = "sdy.named_computation"(%0) <{name = "foo"}> ({
    ^bb0(%arg18: tensor<2x2xf32>):
      "sdy.return"(%arg18) : (tensor<2x2xf32>) -> ()
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    "sdy.sharding_group"(%0) <{group_id = 3 : i64}> : (tensor<2x2xf32>) -> ()
    %42 = "sdy.propagation_barrier"(%0) <{allowed_direction = 0 : i32}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %43 = "stablehlo.reverse"(%0) <{dimensions = array<i64>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %44 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2xi32>
    %45 = "stablehlo.popcnt"(%arg5) : (tensor<4xi32>) -> tensor<4xi32>
    %46 = "stablehlo.replica_id"() : () -> tensor<ui32>
    %47 = "stablehlo.case"(%4) ({
      "stablehlo.return"(%0) : (tensor<2x2xf32>) -> ()
    }) : (tensor<i32>) -> tensor<2x2xf32>
    %48 = "chlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %49 = "stablehlo.dynamic_slice"(%0, %4, %4) <{slice_sizes = array<i64: 1, 1>}> : (tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
    %50 = "stablehlo.dynamic_update_slice"(%0, %49, %4, %4) : (tensor<2x2xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    %51 = "stablehlo.compare"(%0, %0) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %52 = "stablehlo.while"(%0) ({
    ^bb0(%arg17: tensor<2x2xf32>):
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg16: tensor<2x2xf32>):
      "stablehlo.return"(%arg16) : (tensor<2x2xf32>) -> ()
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %53 = "stablehlo.convolution"(%arg8, %arg9) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>, padding = dense<[[1, 0]]> : tensor<1x2xi64>, rhs_dilation = array<i64: 2>, window_reversal = array<i1: true>, window_strides = array<i64: 2>}> : (tensor<1x9x2xf32>, tensor<3x2x4xf32>) -> tensor<1x3x4xf32>
    %54 = "stablehlo.pad"(%0, %2) <{edge_padding_high = array<i64: 0, -1>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 0, 2>}> : (tensor<2x2xf32>, tensor<f32>) -> tensor<3x3xf32>
    %55 = "stablehlo.concatenate"(%0, %0) <{dimension = 1 : i64}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
    %56 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 2, 3>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 2>}> : (tensor<2x3xf32>) -> tensor<2x1xf32>
    %57 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %58 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<2x3xf32>) -> tensor<2x4x3xf32>
    %59 = "stablehlo.reduce"(%arg1, %2) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %67 = "stablehlo.multiply"(%arg14, %arg15) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%67) : (tensor<f32>) -> ()
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %60:2 = "stablehlo.reduce"(%arg1, %arg1, %2, %2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg10: tensor<f32>, %arg11: tensor<f32>, %arg12: tensor<f32>, %arg13: tensor<f32>):
      %66 = "stablehlo.multiply"(%arg10, %arg12) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%66, %arg13) : (tensor<f32>, tensor<f32>) -> ()
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
    %61 = "stablehlo.if"(%1) ({
      "stablehlo.return"(%0) : (tensor<2x2xf32>) -> ()
    }, {
      "stablehlo.return"(%0) : (tensor<2x2xf32>) -> ()
    }) : (tensor<i1>) -> tensor<2x2xf32>
    %62 = "stablehlo.dynamic_broadcast_in_dim"(%2, %3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
    %63 = "stablehlo.dynamic_iota"(%3) <{iota_dimension = 0 : i64}> : (tensor<1xi64>) -> tensor<?xf32>
    %64 = "stablehlo.constant"() <{value = dense<(1.000000e+00,2.000000e+00)> : tensor<1xcomplex<f32>>}> : () -> tensor<1xcomplex<f32>>
    %65 = "stablehlo.dynamic_reshape"(%24, %3) : (tensor<2xf32>, tensor<1xi64>) -> tensor<?xf32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x2xf32>) -> tensor<2x2xf32>, sym_name = "g", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x2xf32>):
    "func.return"(%arg0) : (tensor<2x2xf32>) -> ()
  }) : () -> ()
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=4]>, sym_name = "mesh"}> : () -> ()
}) : () -> ()

