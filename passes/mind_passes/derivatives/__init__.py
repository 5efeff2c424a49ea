"""Derivative tables, one per dialect: op class -> adjoints of its operands."""
