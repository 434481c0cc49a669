# Expected values of the tests in src/series_tests.rs: python3 crates/teiji-stats/tests/expected.py
import math
import statistics
from fractions import Fraction


def data(n, offset):
    """Knuth's MMIX generator, squeezed into a two-sided, heavy-tailed series."""
    state, series = 1, []
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        u = (state >> 33) % 24001 - 12000
        series.append(u * u * u // 144_000_000 + offset)
    return series


for n, offset in ((60_000, 0), (60_000, 1_700_000_000_000_000_000), (2_000_000, -398)):
    d = data(n, offset)
    magnitudes = sorted(map(abs, d))
    # pvariance and mean of Fractions are exact; only the last step rounds.
    exact = list(map(Fraction, d)) if n < 100_000 else None
    mean = float(statistics.mean(exact)) if exact else statistics.fmean(d)
    m = Fraction(sum(d), n)
    variance = Fraction(sum(x * x for x in d), n) - m * m
    print(n, offset, "mean", repr(mean), "pstdev", repr(math.sqrt(variance)))
    print("  min", min(d), "max", max(d))
    for percent in ("50", "90", "99", "99.9", "99.99", "99.999", "99.9999"):
        p = Fraction(percent) / 100
        if n * (1 - p) >= 1:
            print("  p", percent, magnitudes[math.ceil(p * n) - 1])
small = data(1_000, 0)
print("statistics.pstdev of the first 1000:", repr(statistics.pstdev(small)), repr(statistics.mean(small)))
