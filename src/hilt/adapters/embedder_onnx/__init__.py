"""A sentence model of a package on the CPU: all-MiniLM-L6-v2 in 8 bits, with onnxruntime (extra `sentence`).

`vocab.txt` is the model's list of word pieces (Apache-2.0, as the model), which its package leaves out.
"""

from hilt.adapters.embedder_onnx.embedder import OnnxEmbedder, OnnxVectors

__all__ = ["OnnxEmbedder", "OnnxVectors"]
