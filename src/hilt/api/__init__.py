"""The service: sessions over HTTP, with callers, strict bodies and event streams."""
