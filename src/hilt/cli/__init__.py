"""The command line: `main` parses and loads one command on demand."""
