"""What the outside must provide: Protocols whose docstrings are the contracts."""
