"""Who speaks when: the protocols by which a model is taken through a conversation."""
