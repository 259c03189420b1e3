"""The cells of the picture of a mix are what training would draw, and the file is a picture of them."""

import numpy as np
import pytest
from matplotlib import image

from preprocess.mixing.mix_file import copies, order_of_use
from preprocess.mixing.plot import CELLS, Corpus, cells_of, draw_mix


def test_few_documents_are_cells_and_are_drawn_as_training_does():
    cells = cells_of([Corpus("core", 30, 2.5), Corpus("satellite", 300, 1.0)], seed=3)
    assert cells.size == 1 and cells.unmixed.tolist() == list(range(330))
    assert (cells.mixed == order_of_use([copies(30, 2.5, 3, 1, 0), copies(300, 1.0, 3, 1, 1)], 3, 1)).all()
    assert np.bincount(cells.corpus).tolist() == [30, 300]


@pytest.mark.parametrize(
    "core", [Corpus("core", 12_000, 7.3), Corpus("core", 40, 2000.0), Corpus("core", 900_000, 0.2)]
)
def test_much_text_is_shown_with_its_shares(core):
    satellite = Corpus("satellite", 100_000, 1.0)
    cells = cells_of([core, satellite], seed=1)
    assert max(len(cells.unmixed), len(cells.mixed)) <= 1.1 * CELLS
    used = core.size * core.weight
    share = (cells.corpus[cells.mixed] == 0).mean()
    assert share == pytest.approx(used / (used + satellite.size), abs=0.01)


def test_the_picture_shows_both_corpora_on_both_sides_and_the_copies(tmp_path):
    draw_mix([("core", 30, 10.0), ("satellite", 300, 1.0)], 1, tmp_path / "mix.png", "document")
    pixels = image.imread(tmp_path / "mix.png")[:, :, :3]
    middle = pixels.shape[1] // 2

    def area(colour, side):
        return int((np.abs(side - np.array(colour)).max(2) < 0.02).sum())

    dark, light, red = (0.0, 0.135, 0.305), (0.996, 0.909, 0.218), (1.0, 0.0, 0.0)
    left, right = pixels[:380, :middle], pixels[:380, middle:]  # above the legend
    assert area(light, left) / area(dark, left) == pytest.approx(10, rel=0.1)
    assert area(light, right) / area(dark, right) == pytest.approx(1, rel=0.1)
    assert area(red, right) / area(red, left) == pytest.approx(10, rel=0.1)


def test_dollar_signs_in_a_name_are_no_formula(tmp_path):
    draw_mix([("prix_$_$", 30, 10.0), ("satellite", 300, 1.0)], 1, tmp_path / "mix.png")
    assert (tmp_path / "mix.png").exists()
