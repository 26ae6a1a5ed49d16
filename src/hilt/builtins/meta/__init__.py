"""Tools about tools: paging a cut result, finding a tool."""
