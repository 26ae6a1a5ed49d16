"""What things are and how decisions are made: frozen values and plain functions, no await, no I/O."""
