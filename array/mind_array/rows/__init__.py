"""The functions of the namespace by family; each file registers its rows in `table.py`."""
