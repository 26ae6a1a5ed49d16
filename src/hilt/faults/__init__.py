"""The fault kit: hostile and broken MCP servers for whoever writes a client; needs the standard library alone.

`python -m hilt.faults list` names them; `hilt.faults.table` holds them as data and `hilt.faults.run` starts them
from Python. Nothing here imports the rest of the package.
"""
