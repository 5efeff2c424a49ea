"""Networks people run, as PTIR programs from a small builder: GPT-2, ResNet34, MobileNetV2."""
