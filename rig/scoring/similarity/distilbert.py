"""The recipe of ToolTalk's paper: the [CLS] vector of DistilBERT, if you have its weights."""

from pathlib import Path

from rig.errors import RigError
from rig.scoring.similarity.embedding import Embedding
from rig.scoring.similarity.encoder import Recipe
from rig.toolbox.spec import Text


class DistilBert(Embedding):
    """distilbert-base-uncased as transformers saves it, used as sent2vec 0.3.0 does: the last hidden state of
    the first token, not normalized. Raises RigError when the directory holds no such model.
    """

    recipe = Recipe.FIRST_TOKEN

    def threshold(self, kind: Text) -> float:
        return kind.cosine if self.cosine_threshold is None else self.cosine_threshold

    def _check(self, directory: Path) -> None:
        if not (directory / "config.json").is_file():
            raise RigError(
                f"{directory}: no config.json; distilbert: takes the directory of "
                "distilbert-base-uncased as transformers saves it"
            )
