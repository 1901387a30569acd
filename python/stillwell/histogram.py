"""A small histogram as SVG, for notebooks."""
from html import escape
from typing import List, Sequence, Tuple

N_BINS = 30
WIDTH_PX, HEIGHT_PX, LINE_PX = 480, 120, 16
# The palette of Okabe & Ito, whose colours are distinct for any colour vision.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
SCALES = {
    "second": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "byte": ((1024.0 ** 3, "GiB"), (1024.0 ** 2, "MiB"), (1024.0, "KiB"), (1.0, "B")),
}


def value_text(value: float, unit: str) -> str:
    """The value with four significant digits, in the largest multiple of the unit that leaves at least 1."""
    scales = SCALES.get(unit, ((1.0, ""),))
    scale, name = next((pair for pair in scales if value >= pair[0]), scales[-1])
    return ("%.4g %s" % (value / scale, name)).rstrip()


def bins(arms: Sequence[Sequence[float]]) -> Tuple[float, float, List[List[int]]]:
    """Lowest and highest value of all arms, and the number of values of each arm in each of `N_BINS` bins between them."""
    everything = [value for values in arms for value in values]
    low, high = min(everything), max(everything)
    width = (high - low) / N_BINS or 1.0
    counts = [[0] * N_BINS for _ in arms]
    for index, values in enumerate(arms):
        for value in values:
            counts[index][min(int((value - low) / width), N_BINS - 1)] += 1
    return low, high, counts


def svg(arms: Sequence[Tuple[str, Sequence[float]]], unit: str) -> str:
    """A histogram of named arms on one scale. Empty without values."""
    if not any(values for _, values in arms):
        return ""
    low, high, counts = bins([values for _, values in arms])
    tallest = max(max(row) for row in counts)
    bin_px, shapes = WIDTH_PX / N_BINS, []
    for index, ((name, _), row) in enumerate(zip(arms, counts)):
        colour = COLOURS[index % len(COLOURS)]
        for place, count in enumerate(row):
            if count:
                height = HEIGHT_PX * count / tallest
                box = 'x="%.1f" y="%.1f" width="%.1f" height="%.1f"' % (place * bin_px, HEIGHT_PX - height, bin_px - 1, height)
                shapes.append('<rect %s fill="%s" fill-opacity="0.6"><title>%s: %d</title></rect>' % (box, colour, escape(name), count))
        y = HEIGHT_PX + LINE_PX * (index + 2)
        shapes.append('<text x="0" y="%d" fill="%s">%s</text>' % (y, colour, escape(name)))
    y = HEIGHT_PX + LINE_PX
    shapes.append('<text x="0" y="%d">%s</text>' % (y, value_text(low, unit)))
    shapes.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (WIDTH_PX, y, value_text(high, unit)))
    size = 'width="%d" height="%d"' % (WIDTH_PX, HEIGHT_PX + LINE_PX * (len(arms) + 1) + 6)
    return '<svg xmlns="http://www.w3.org/2000/svg" %s font-family="sans-serif" font-size="12" fill="currentColor">%s</svg>' % (
        size, "".join(shapes))
