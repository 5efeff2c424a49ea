"""The shape dialect: sizes and shapes as values."""
