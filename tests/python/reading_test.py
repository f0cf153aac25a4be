"""One reader fills the classes of all results from their annotations; their docstrings come from the program's list of fields."""

from __future__ import annotations

import importlib.util
import tempfile
import unittest
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from headway.results.display import Brief
from headway.errors import BadDataError
from headway.results.reading import Sizes, everything, read
from headway.results.records import Stored, record

HAVE_MODULE = importlib.util.find_spec("headway._native") is not None


@record("latent_run", "layers/<i>/similarity", among="labels")
@dataclass(frozen=True, repr=False)
class Alike(Brief, Stored):
    """How alike codes are."""

    among: tuple[str, ...]
    cosine: np.ndarray


@record("latent_run", "layers/<i>")
@dataclass(frozen=True, repr=False)
class Codes(Brief, Stored):
    """Codes of a layer.

    Attributes
    ----------
    similarity : Alike or None
        Said by hand.
    """

    layer: int
    heads: int = 7
    similarity: Alike | None = None


@record("point", "corrected", u="order_parameters/layer_<l>")
@dataclass(frozen=True, repr=False)
class Means(Brief, Stored):
    """Means."""

    reason: str
    u: tuple[np.ndarray, ...]
    others: Mapping[str, Alike]


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = h5py.File(Path(folder.name) / "a.h5", "w")
        self.addCleanup(self.file.close)

    def alike(self, name):
        group = self.file.create_group(name)
        group["labels"], group["cosine"], group["mean_codes"] = [b"a", b"b"], np.eye(2), np.ones((2, 3))
        group.attrs["same_label"] = 0.25
        return group

    def test_what_a_class_names_and_what_it_does_not(self):
        found = read(Alike, self.alike("x"))
        self.assertEqual(found.among, ("a", "b"))
        np.testing.assert_array_equal(found.cosine, np.eye(2))
        self.assertEqual(found.same_label, 0.25)  # the class names neither of these
        self.assertEqual(found.mean_codes.shape, (2, 3))
        self.assertIn("same_label", dir(found))
        self.assertEqual(repr(found), "Alike(among=['a', 'b'], cosine=array [2, 2])")
        with self.assertRaisesRegex(AttributeError, "Alike has no field 'different_label'"):
            found.different_label  # of the lists, not of this file

    def test_parts_are_read_and_missing_ones_have_defaults(self):
        self.alike("x/similarity")
        self.file["x"].attrs["layer"] = 3
        found = read(Codes, self.file["x"])
        self.assertEqual((found.layer, found.heads, found.similarity.among[1]), (3, 7, "b"))
        del self.file["x/similarity"]
        self.assertIsNone(read(Codes, self.file["x"]).similarity)

    def test_layers_are_read_with_their_sizes(self):
        group = self.file.create_group("x")
        group.attrs["reason"] = "none"
        self.alike("x/others/one")
        sizes = Sizes((4, 2))
        self.assertEqual(read(Means, group, sizes).u, ())
        group["order_parameters/layer_1"] = np.ones((4, 4))
        with self.assertRaisesRegex(BadDataError, "/x/order_parameters/layer_2: is missing"):
            read(Means, group, sizes)
        group["order_parameters/layer_2"] = np.ones((2, 3))
        with self.assertRaisesRegex(BadDataError, r"/x/order_parameters/layer_2: has shape \[2, 3\], not \[2, 2\]"):
            read(Means, group, sizes)
        with self.assertRaisesRegex(BadDataError, "/x: attribute reason is missing"):
            del group.attrs["reason"]
            read(Means, group, sizes)

    @unittest.skipUnless(HAVE_MODULE, "the extension module, which has the list, is not built")
    def test_docstrings_are_filled_from_the_list(self):
        self.assertIn("cosine : ndarray\n    Cosine between the mean codes", Alike.__doc__)
        self.assertIn("similarity : Alike or None\n    Said by hand.", Codes.__doc__)
        self.assertIn("heads : int\n    Heads H.", Codes.__doc__)
        self.assertIn("u : tuple of ndarray of shape (path, path_other)\n", Means.__doc__)

    def test_a_group_of_any_kind_is_read(self):
        """Of a verb that this package does not know, too."""
        group = self.file.create_group("x")
        group["deep/er/numbers"], group["words"] = np.arange(3), [b"a", b"b"]
        group["deep"].attrs["seconds"] = 1.5
        found = everything(group)
        self.assertEqual(sorted(found), ["deep/er/numbers", "deep/seconds", "words"])
        self.assertEqual((found["deep/seconds"], found["words"], found["deep/er/numbers"].dtype.kind), (1.5, ["a", "b"], "i"))
        self.alike("y/similarity")
        self.file["y"].attrs["layer"] = 1
        self.file["y/more/of"] = np.eye(2)
        np.testing.assert_array_equal(read(Codes, self.file["y"]).more.values["of"], np.eye(2))


if __name__ == "__main__":
    unittest.main()
