"""Other textual forms of our dialects."""
