"""What a cart costs, in cents. It is wrong on purpose: the example's reviewers find out where."""


def total(prices: list[int], discount: int = 0) -> int:
    """Return the sum of the prices, less a discount in percent."""
    return sum(prices) * (100 - discount) // 10
