"""An HTML page as a browser reads it."""

from html.parser import HTMLParser

VOID = {"meta", "img"}


class Page(HTMLParser):
    """Tags in order with their attributes, and the text. Fails on a tag that is not closed, or not in order."""

    def __init__(self, page: str):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, tag: str) -> list[dict]:
        """The attributes of each of these tags."""
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def loads(self) -> list[str]:
        """What the page may load, or leads to."""
        names = ("src", "href", "srcset", "action", "data")
        return [value for _, attributes in self.tags for name, value in attributes.items() if name in names]
