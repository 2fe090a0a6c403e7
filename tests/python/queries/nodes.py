"""SQL as a tree, so that a failing query can be made smaller."""


class Node:
    """A piece of SQL: text with a %s for every child. `type` is the SQL type of an expression, or None."""
    __slots__ = ("type", "text", "kids")

    def __init__(self, type_, text, *kids):
        self.type, self.text, self.kids = type_, text, list(kids)

    def sql(self, parameters=None):
        return self.text % tuple(kid.sql(parameters) for kid in self.kids) if self.kids else self.text


class Literal(Node):
    """A constant, which may become a parameter of a prepared statement; a `fixed` one keeps its value there."""
    __slots__ = ("parameter", "fixed")

    def __init__(self, type_, text, parameter=True, fixed=False):
        super().__init__(type_, text)
        self.parameter, self.fixed = parameter, fixed

    def sql(self, parameters=None):
        if parameters is None or not self.parameter:
            return self.text
        if self not in parameters:
            parameters.append(self)
        return f"${parameters.index(self) + 1}"


class List(Node):
    """Children with something between them, of which at least `least` must stay; nothing at all when it is empty."""
    __slots__ = ("separator", "before", "after", "least")

    def __init__(self, kids, separator=", ", before="", after="", least=0):
        super().__init__(None, "", *kids)
        self.separator, self.before, self.after, self.least = separator, before, after, least

    def sql(self, parameters=None):
        if not self.kids:
            return ""
        return self.before + self.separator.join(kid.sql(parameters) for kid in self.kids) + self.after


def below(node):
    """All nodes of the tree, from the top."""
    yield node
    for kid in node.kids:
        yield from below(kid)
