"""Command-line tools and the xDSL plug-in."""
