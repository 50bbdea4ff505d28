"""The one place that imports sentence-transformers, and with it torch."""

import os
import warnings
from pathlib import Path
from typing import Any

from rig.errors import RigError
from rig.scoring.similarity.embedding import Encode

THREADS = 1
"""So that sums are always made in the same order; a text takes some 10 ms all the same."""


def load_encoder(directory: Path) -> Encode:
    """The model in `directory`, loaded without network and without a word on the terminal.

    Raises RigError when it cannot be loaded.
    """
    # Read when the libraries are imported; the directory is all they may look at.
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        torch.set_num_threads(THREADS)
        try:
            model = SentenceTransformer(str(directory), device="cpu", local_files_only=True)
        except Exception as error:  # whatever the libraries make of a broken model
            raise RigError(f"{directory}: not a sentence-transformers model that loads: {error}") from error

    def encode(text: str) -> Any:
        return model.encode(text, convert_to_numpy=True, show_progress_bar=False).astype("float64")

    return encode
