"""
The language server: what editors show of a program while it is written.

    names.py          where names are defined and used: from the text alone, which may be in the middle of an edit
    analysis.py       what is wrong with a program, and the types of its values: from its module
    documentation.py  what ops are
    server.py         the protocol
"""
