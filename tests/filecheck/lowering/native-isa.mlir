// RUN: mind-opt %s --lower-to-native=isa=avx2 | filecheck %s --check-prefix=FUSED
// RUN: mind-opt %s -p 'lower-to-native{isa=baseline}' | filecheck %s --check-prefix=WHOLE
// RUN: mind-opt %s -t 'native{isa=avx512}' | filecheck %s --check-prefix=AVX512
// RUN: mind-opt %s -t 'native{isa=avx2}' | filecheck %s --check-prefix=AVX2
// RUN: mind-opt %s -t 'native{isa=baseline}' | filecheck %s --check-prefix=BASELINE
// RUN: mind-opt %s -t 'native{isa=sve256}' | filecheck %s --check-prefix=SVE
// RUN: mind-opt %s -t 'native{isa=avx512vnni}' | filecheck %s --check-prefix=VNNI
// RUN: mind-opt %s -t 'native{isa=avx512amx}' | filecheck %s --check-prefix=AMX
// RUN: mind-opt %s -t 'native{isa=neon}' | filecheck %s --check-prefix=NEON
// RUN: not mind-opt %s --lower-to-native=isa=avx3 2>&1 | filecheck %s --check-prefix=UNKNOWN

// A kernel computes in f16 where the instruction set converts it: there a layer norm is a fusion, elsewhere an op for NumPy.
// FUSED-LABEL:    @norm
// FUSED:            ptir.fusion %x, %g, %b
// FUSED:              ptir.reduce
// FUSED-NOT:        ptir.layer_norm
// WHOLE-LABEL:    @norm
// WHOLE-NOT:        ptir.fusion
// WHOLE:            ptir.layer_norm %x, %g, %b
// BASELINE:       ; @norm on baseline: 0 native kernels, 1 op on NumPy
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @norm(%x: tensor<4x64xf16>, %g: tensor<64xf16>, %b: tensor<64xf16>) -> tensor<4x64xf16> {
    %n = ptir.layer_norm %x, %g, %b feature_axis = -1 epsilon = 1.0e-5 : (tensor<4x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<4x64xf16>
    func.return %n : tensor<4x64xf16>
  }

// Vectors are as wide as the registers.
// AVX512:         define internal i64 @k.s.add(ptr %args
// AVX512:           [[Y:%y\.[0-9]+]] = load <16 x float>
// AVX512:           fadd <16 x float> [[Y]],
// AVX2:           define internal i64 @k.s.add(ptr %args
// AVX2:             [[Y:%y\.[0-9]+]] = load <8 x float>
// AVX2:             fadd <8 x float> [[Y]],
// BASELINE:       define internal i64 @k.s.add(ptr %args
// BASELINE:         [[Y:%y\.[0-9]+]] = load <4 x float>
// BASELINE:         fadd <4 x float> [[Y]],
// SVE:            define internal i64 @k.s.add(ptr %args
// SVE:              fadd <8 x float>
// SVE:            attributes #0 = { nounwind vscale_range(2,2) 
  func.func @double(%y: tensor<64xf32>) -> tensor<64xf32> {
    %s = ptir.add %y, %y : tensor<64xf32>
    func.return %s : tensor<64xf32>
  }

// A product of signed bytes has the dot product of the machine.
// VNNI:           @product on avx512vnni
// VNNI:           13x64 by 64x40 read in si8 by vpdpbusd in si32
// VNNI:           call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(
// AMX:            @product on avx512amx
// AMX:            13x64 by 64x40 read in si8 by amx.int8 in si32: tiles 13 by 48, depth 16, rhs packed
// AMX:            call void @llvm.x86.ldtilecfg(
// AMX:            call void @llvm.x86.tilerelease()
// AMX:            call void @llvm.x86.tdpbssd(i8 0, i8 4, i8 5)
// AVX2:           13x64 by 64x40 read in si8 by vpmaddwd in si32
// AVX2:           call <8 x i32> @llvm.x86.avx2.pmadd.wd(
// NEON:           13x64 by 64x40 read in si8 in si32
// NEON:           mul <4 x i32>
  func.func @product(%a: tensor<13x64xsi8>, %b: tensor<64x40xsi8>) -> tensor<13x40xsi32> {
    %p = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] accum_dtype = si32 out_dtype = si32
        : (tensor<13x64xsi8>, tensor<64x40xsi8>) -> tensor<13x40xsi32>
    func.return %p : tensor<13x40xsi32>
  }

// UNKNOWN: error[E7001]: isa='avx3', expected one of ['avx2', 'avx2vnni', 'avx512', 'avx512amx', 'avx512vnni', 'baseline', 'neon', 'neondot', 'sve256']
}
