"""The main job, shown: a real session on a workspace of its own with real MCP servers."""
