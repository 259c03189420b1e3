"""What a converter finds in a file, and its form between two processes."""

from dataclasses import asdict, dataclass, field, replace

# Control characters but tab and line ends, soft hyphens, and halves of characters, which no UTF-8 can hold.
NO_TEXT = dict.fromkeys([*range(9), *range(14, 32), *range(127, 160), 0xAD, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF])


@dataclass(frozen=True)
class Scan:
    """A page without text: its place among the lines, its number in a PDF, from 0, and the PDF.

    The PDF stays in the process that read it, which draws the page when it is asked to.
    """

    place: int
    page: int
    pdf: bytes = b""


@dataclass
class Content:
    """What a converter finds in a file.

    `lines` are paragraphs, headings, list items and table rows; none is blank or holds a line break. `notes` count what
    a user should know. `unread` are parts that cannot be read, such as ("page 3", reason, remedy). `scans` are pages
    without text, which are to be drawn.
    """

    lines: list[str]
    metadata: dict[str, str] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)
    unread: list[tuple[str, str, str]] = field(default_factory=list)
    scans: list[Scan] = field(default_factory=list)

    def to_json(self) -> dict:
        """The content as JSON can hold it, without characters that are no text."""
        lines = [line.translate(NO_TEXT).strip(" \t") for line in self.lines]
        return asdict(replace(self, scans=[])) | {
            "lines": lines,
            "scans": [(one.place, one.page) for one in self.scans],
        }

    @classmethod
    def from_json(cls, record: dict) -> "Content":
        """The inverse of `to_json`. A line that holds nothing but spaces is dropped, when no scan counts it."""
        scans = [Scan(*scan) for scan in record["scans"]]
        lines = record["lines"] if scans else [line for line in record["lines"] if line.strip()]
        unread = [(place, reason, remedy) for place, reason, remedy in record["unread"]]
        return cls(lines, record["metadata"], record["notes"], unread, scans)

    def add(self, other: "Content") -> None:
        """Append the content of a file inside this one."""
        self.scans += [replace(scan, place=len(self.lines) + scan.place) for scan in other.scans]
        self.lines += other.lines
        self.unread += other.unread
        for name, count in other.notes.items():
            self.notes[name] = self.notes.get(name, 0) + count
