"""Measures of how alike two texts are, which need a model: the packaged one, or one from a folder."""
