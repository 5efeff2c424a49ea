"""Networks people run, as functions of arrays, and as PTIR programs: GPT-2, ResNet34, MobileNetV2."""
