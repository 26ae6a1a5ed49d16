"""Every entry of the kit against hilt's own client, in every era and over every transport that it fits."""
