"""Shapes of the documentation's pictures, in colours that are readable on white and on black."""

import html

HEAP, AMAX, TEXT, BOOKS = "#8a9199", "#2f81f7", "#6e7781", "#bf8700"


def text(x, y, what, anchor="start", more=""):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{TEXT}"{more}>{html.escape(what)}</text>'


def svg(width, height, title, shapes):
    """The whole file."""
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">'
    return "\n".join([begin, f"<title>{html.escape(title)}</title>", *shapes, "</svg>", ""])


def box(x, y, width, height, colour, title="", lines=(), dashed=False, inside=False):
    """A rectangle with lines of text in its middle, or, with `inside`, its title at the top and room for more."""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    shapes = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" fill="{colour}" fill-opacity="0.1" stroke="{colour}"{dash}/>']
    texts = [(title, ' font-weight="bold"')] * bool(title) + [(line, "") for line in lines]
    first = y + 17 if inside else y + height / 2 + 5 - 8.5 * (len(texts) - 1)
    shapes += [text(x + width / 2, first + 17 * number, line, "middle", more) for number, (line, more) in enumerate(texts)]
    return "\n".join(shapes)


def arrow(*points, colour=TEXT, dashed=False):
    """A line through the points, with a head at the last; the last piece is horizontal or vertical."""
    (x, y), (fromx, fromy) = points[-1], points[-2]
    dx, dy = (x > fromx) - (x < fromx), (y > fromy) - (y < fromy)
    if dx and dy:
        raise ValueError("the head of a slanted arrow")
    head = [(x, y), (x - 8 * dx + 4 * dy, y - 8 * dy + 4 * dx), (x - 8 * dx - 4 * dy, y - 8 * dy - 4 * dx)]
    dash = ' stroke-dasharray="4 3"' if dashed else ""

    def joined(pairs):
        return " ".join(f"{a},{b}" for a, b in pairs)

    return (f'<polyline points="{joined(points)}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>\n'
            f'<polygon points="{joined(head)}" fill="{colour}"/>')
