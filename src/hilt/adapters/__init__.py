"""The outside, one technology a file, named after the port it fills."""
