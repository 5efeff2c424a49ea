"""Other systems' own objects in and out: functions of JAX as modules, modules as functions of JAX."""
