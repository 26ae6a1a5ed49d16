"""The turn, one file a stage; imports core and ports, never a technology."""
