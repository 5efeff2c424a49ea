"""
Convolutions that read windows where they lie.

    convolution.py  `Convolution`: what slides over what, and how it is cut      plan.py    from the op
    loops.py        over groups, panels of columns, places                       tile.py    a tile of results
    fusion.py       a convolution and its epilogue               sums.py    the axes that a tile sums over
    blocks.py       windows longer than their results            padding.py  filter taps over padding
"""
