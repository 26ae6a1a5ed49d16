"""Models of providers through `pydantic_ai.direct`; a provider's file alone loads its library."""
