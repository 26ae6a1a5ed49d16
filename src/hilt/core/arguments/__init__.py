"""From a model's argument text to arguments that fit a schema, one step a file; `core.schema` joins them."""
