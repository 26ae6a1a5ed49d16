"""Static word vectors of a package: the mean of a text's token vectors, with numpy alone (extra `static`)."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import anyio.to_thread

from hilt.core.errors import ConfigError
from hilt.core.search import SearchDocument
from hilt.core.search_text import words

try:
    import numpy as np
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
except ImportError:
    raise ConfigError("word vectors need more packages: pip install 'hilt[static]'", key="search.embedder") from None

PACKAGE = "wordllama"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class StaticEmbedder:
    """See `Embedder`. The table, 16 MB, is read once, when the first collection is made."""

    name = "static"
    share = 0.6

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` holds weights and tokenizer; the installed package's own without it.

        Raises:
            ConfigError: The files are not there.
        """
        self._folder = folder or _installed()
        for file in (WEIGHTS, TOKENIZER):
            if not (self._folder / file).is_file():
                raise ConfigError(f"the word vectors are incomplete: {file} is missing", key="search.embedder")
        self._table: _Table | None = None

    def text(self, tool: SearchDocument) -> str:
        """Return server, name, description and the names of the parameters."""
        return f"{tool.server} {tool.own_name} {tool.description} {tool.parameters[0]}"

    def vectors(self) -> "StaticVectors":
        """See `Embedder.vectors`."""
        if self._table is None:
            self._table = _Table(self._folder)
        return StaticVectors(self._table)


class _Table:
    """Vectors of tokens."""

    def __init__(self, folder: Path) -> None:
        self._weights = next(iter(load_file(folder / WEIGHTS).values()))
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_padding()
        self.size = int(self._weights.shape[1])

    def means(self, texts: Sequence[str]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
        """Return one vector of length 1 for each text, of zeros for one without a known token."""
        out: np.ndarray[tuple[int, int], np.dtype[np.float32]] = np.zeros((len(texts), self.size), dtype=np.float32)
        split = [" ".join(words(text)) for text in texts]
        for row, found in enumerate(self._tokenizer.encode_batch(split, add_special_tokens=False)):
            if found.ids:
                out[row] = self._weights[found.ids].astype(np.float32).mean(axis=0)
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        out /= np.where(lengths == 0, 1, lengths)
        return out


class StaticVectors:
    """See `TextVectors`; texts are taken in by a thread."""

    def __init__(self, table: _Table) -> None:
        self._table = table
        self._rows = np.zeros((0, table.size), dtype=np.float32)

    async def add(self, texts: Sequence[str]) -> None:
        """See `TextVectors.add`."""
        means = await anyio.to_thread.run_sync(self._table.means, texts)
        self._rows = np.concatenate([self._rows, means])

    async def likeness(self, query: str) -> Sequence[float]:
        """See `TextVectors.likeness`."""
        found: list[float] = (self._rows @ self._table.means([query])[0]).tolist()
        return found


def _installed() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigError("word vectors need more packages: pip install 'hilt[static]'", key="search.embedder")
    return Path(spec.origin).parent
