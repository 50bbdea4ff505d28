"""The recipe of ToolTalk's paper: the [CLS] vector of DistilBERT, for who has its weights."""

from collections.abc import Mapping
from pathlib import Path

from rig.errors import RigError
from rig.scoring.similarity.embedding import Embedding
from rig.scoring.similarity.encoder import Recipe
from rig.toolbox.spec import Text

TOOLTALK: Mapping[Text, float] = {**dict.fromkeys(Text, 0.9), Text.BODY: 0.8}
"""ToolTalk's thresholds for the cosine."""


class DistilBert(Embedding):
    """distilbert-base-uncased as transformers saves it, used as sent2vec 0.3.0 does: the last hidden state of
    the first token, not normalized. Raises RigError when the directory holds no such model.
    """

    recipe = Recipe.FIRST_TOKEN

    @property
    def thresholds(self) -> Mapping[Text, float]:
        return super().thresholds or TOOLTALK

    def _check(self, directory: Path) -> None:
        if not (directory / "config.json").is_file():
            raise RigError(
                f"{directory}: no config.json to be read; distilbert: takes the directory of "
                "distilbert-base-uncased as transformers saves it"
            )
