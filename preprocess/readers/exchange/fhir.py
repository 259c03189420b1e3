"""FHIR (JSON): the documents in bundles, single resources and NDJSON exports.

DocumentReference with its attachments or Binary resources, Composition and DiagnosticReport give a document each. Other
resources are counted. Nothing is fetched from a server.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from pathlib import Path

from preprocess.documents.document import PATIENT, Document
from preprocess.readers.conversion.reader import lines_inside
from preprocess.readers.dates import iso_date
from preprocess.readers.exchange.fhir_binaries import Binaries, Binary, binaries_in, inside_bundle, without_version
from preprocess.readers.markup.html_pages import lines_of_page
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault, ReadLog
from preprocess.readers.records.json_lines import values_of
from preprocess.readers.records.record import lines_of_text, values_at

People = dict[str, str]  # patients by their addresses in a bundle
WITHOUT = "FHIR resources that are no document"
IN_ERROR = "FHIR documents entered in error"
EASIEST = ("plain", "html", "rtf", "word", "opendocument", "pdf")  # forms of one document, the most exact text first
DATES = ("date", "effectiveDateTime", "effectivePeriod.start", "context.period.start", "issued")


def read_fhir(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document for each resource that is one. Raises InputError for a file that is no JSON."""
    for place, number, value in values_of(file, options, log):
        for resource, people, binaries in _resources(value, Binaries(file.parent)):
            where = f"{place}, {resource.get('resourceType')} {resource.get('id', '')}".strip()
            with log.refusing(options, file, where):
                if (document := _document(resource, binaries, people, options, log)) is not None:
                    document.id = document.id or f"{options.name}-{number}"
                    yield document


def _resources(value: object, beside: Binaries) -> Iterator[tuple[dict, People, Binaries]]:
    """The resources in a value, those of bundles inside bundles too, each with what its bundles hold."""
    waiting: list[tuple[object, People, Binaries]] = [(value, {}, beside)]
    while waiting:
        resource, people, binaries = waiting.pop()
        if isinstance(resource, list):
            waiting += [(one, people, binaries) for one in reversed(resource)]
        elif isinstance(resource, dict) and resource.get("resourceType") == "Bundle":
            people, binaries = people | _people(resource), binaries.with_those(inside_bundle(resource))
            entries = reversed(_dicts(resource.get("entry")))
            waiting += [(entry.get("resource"), people, binaries) for entry in entries]
        elif isinstance(resource, dict):
            yield resource, people, binaries


def _people(bundle: dict) -> People:
    """The patients of a bundle by their urn:uuid, which is another one in each bundle: their ids or identifiers."""
    entries = [(str(entry.get("fullUrl")), _dict(entry.get("resource"))) for entry in _dicts(bundle.get("entry"))]
    patients = [(url, one) for url, one in entries if one.get("resourceType") == "Patient" and url.startswith("urn:")]
    ids = {url: _first(patient, "id") for url, patient in patients}
    return {
        url: ids[url] if ids[url] and not url.endswith(ids[url]) else _first(patient, "identifier.value")
        for url, patient in patients
    }


def _patient(resource: dict, people: People) -> str:
    """The patient of a document: the id in its reference, or the identifier of the one that a bundle or it holds."""
    said = _first(resource, "subject.reference")
    contained = {f"#{_first(one, 'id')}": one for one in _dicts(resource.get("contained"))}
    if said in contained:
        return _first(contained[said], "identifier.value")
    if "?identifier=" in said:  # Patient?identifier=SYSTEM|VALUE
        return said.partition("?identifier=")[2].rpartition("|")[2]
    reference = without_version(said)
    kind, _, name = reference.rpartition("/")
    is_other = bool(kind) and not kind.endswith("Patient")  # a group, a device
    patient = "" if is_other else people.get(reference) or name.removeprefix("urn:uuid:")
    return patient or _first(resource, "subject.identifier.value")


def _document(
    resource: dict, binaries: Binaries, people: People, options: ReadOptions, log: ReadLog
) -> Document | None:
    """The document of a resource, None for one of another kind. Raises Fault for text that cannot be read."""
    kind = str(resource.get("resourceType", ""))
    if kind not in LINES:
        log.count(f"{WITHOUT} ({kind or 'no resourceType'})")
        return None
    if "entered-in-error" in (resource.get("status"), resource.get("docStatus")):
        log.count(IN_ERROR)
        return None
    inside = binaries_in(_dicts(resource.get("contained")), "#")
    lines = LINES[kind](resource, binaries.with_those(inside), options, log)
    kind = _first(resource, "type.text") or _first(resource, "type.coding.display")
    metadata = {"type": kind, PATIENT: _patient(resource, people)}
    date = iso_date(next(filter(None, (_first(resource, path) for path in DATES)), "").partition("T")[0])
    kept = {name: value for name, value in metadata.items() if value}
    return Document(_first(resource, "id"), options.default_source, lines, "", date, kept)


def _of_reference(resource: dict, binaries: Binaries, options: ReadOptions, log: ReadLog) -> list[str]:
    """The lines of a DocumentReference: of its forms, the one whose text is most exact."""
    attachments = [_dict(content.get("attachment")) for content in _dicts(resource.get("content"))]
    return _of_attachments(attachments, binaries, options, log)


def _of_report(resource: dict, binaries: Binaries, options: ReadOptions, log: ReadLog) -> list[str]:
    """The lines of a DiagnosticReport: its form, else its narrative, and its conclusion if that is not in them."""
    lines = _of_attachments(_dicts(resource.get("presentedForm")), binaries, options, log) or _narrative(resource)
    conclusion = lines_of_text(_first(resource, "conclusion"))
    said = {line.strip() for line in lines}
    return lines + [line for line in conclusion if line.strip() not in said]


def _of_composition(resource: dict, _binaries: Binaries, _options: ReadOptions, _log: ReadLog) -> list[str]:
    """The title and the sections with their headings, or the narrative of one without sections."""
    lines: list[str] = []
    waiting = list(reversed(_dicts(resource.get("section"))))
    while waiting:
        section = waiting.pop()
        lines += [*lines_of_text(_first(section, "title")), *_narrative(section)]
        waiting += reversed(_dicts(section.get("section")))
    lines = lines or _narrative(resource)
    return [*lines_of_text(_first(resource, "title")), *lines] if lines else []


LINES: dict[str, Callable[[dict, Binaries, ReadOptions, ReadLog], list[str]]] = {
    "DocumentReference": _of_reference, "DiagnosticReport": _of_report, "Composition": _of_composition,
}  # fmt: skip


def _narrative(resource: dict) -> list[str]:
    """The lines of the XHTML that stands for a resource."""
    page = _first(resource, "text.div")
    return lines_of_page(page) if page else []


def _of_attachments(attachments: list[dict], binaries: Binaries, options: ReadOptions, log: ReadLog) -> list[str]:
    """The lines of the first of several forms of one text that can be read. Raises the Fault of the last."""
    fault: Fault | None = None
    for attachment in sorted(attachments, key=_exactness):
        try:
            binary = _binary(attachment, binaries)
            if lines := lines_inside(_bytes(binary.data), binary.form.lower(), options, log):
                return lines
        except Fault as error:
            fault = error
    if fault:
        raise fault
    return []


def _exactness(attachment: dict) -> int:
    form = str(attachment.get("contentType", "")).lower()
    return next((place for place, word in enumerate(EASIEST) if word in form), len(EASIEST))


def _binary(attachment: dict, binaries: Binaries) -> Binary:
    """The data of an attachment, or of the Binary that it names. Raises Fault for one that is not there."""
    form = str(attachment.get("contentType", ""))
    if data := attachment.get("data"):
        return Binary(form, str(data))
    url = str(attachment.get("url", ""))
    binary = binaries.find(url)
    if binary is None:
        raise Fault("an attachment that lies elsewhere", "export the Binary resources into the same folder", url[:100])
    return Binary(binary.form or form, binary.data)


def _bytes(data: str) -> bytes:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (ValueError, binascii.Error) as error:
        raise Fault("an attachment that is no base 64", "export it again", str(error)) from None


def _first(resource: dict, path: str) -> str:
    """The first text at a path, "" if there is none."""
    return next((value for value in values_at(resource, path) if isinstance(value, str)), "")


def _dict(value: object) -> dict:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
