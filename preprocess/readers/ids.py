"""Ids that are unique: the second document of an id gets a number."""

from hashlib import blake2b

from preprocess.documents import Document


class UniqueIds:
    """The ids met so far, by source, each as 8 bytes of a hash: some 100 bytes of memory a document."""

    def __init__(self):
        self.met: set[bytes] = set()
        self.repeated: dict[tuple[str, str], int] = {}

    def settle(self, document: Document) -> bool:
        """Make the id unique in the document's source: "7" met again is "7-2". Returns whether it had to be changed."""
        if self._is_new(document.source, document.id):
            return False
        key = (document.source, document.id)
        number = self.repeated.get(key, 1) + 1
        while not self._is_new(document.source, f"{document.id}-{number}"):
            number += 1
        self.repeated[key] = number
        document.id = f"{document.id}-{number}"
        return True

    def _is_new(self, source: str, name: str) -> bool:
        key = blake2b(f"{source}\0{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        new = key not in self.met
        self.met.add(key)
        return new
