"""
Matrix products in tiles that fit registers and caches.

    product.py   `Product`: what is multiplied             cut.py        how it is cut into tiles
    kernels.py   its steps, appended to a plan             deferred.py   casts that are done where weights are read
    chain.py     what is done before and after it          arguments.py  what kernels are given
    tile.py      a tile of results in registers            loops.py      over blocks, panels, tiles
    pack.py      operands copied into the tiles' order     dot.py        few rows against rows: dot products
    axes.py      `dot_general` of any rank as one          stream.py     few rows, bands of a large matrix
    sums.py      their sums, and those of all bands        fusion.py     a fusion that begins with a product
    epilogue.py  what is done on finished results          weights.py    what weights are read as
    words.py     narrow numbers in words of machine dot products           word_code.py  their instructions
    matrix_tiles.py  tiles of words in registers of AMX    pack_words.py  operands copied for these
    blocked.py   weights in blocks of a scale              blocked_dot.py  few rows against these
"""
