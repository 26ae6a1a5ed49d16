"""Every port in memory, one file a port."""
