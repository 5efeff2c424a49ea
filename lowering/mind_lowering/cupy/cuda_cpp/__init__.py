"""CUDA C++ around kernels, and NVRTC, which compiles them."""
