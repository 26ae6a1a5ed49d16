"""Remote tools: the policy of the MCP client, over ports; knows no SDK."""
