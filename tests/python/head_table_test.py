"""Tables of heads, and contributions as data sets; neither needs PyTorch."""

import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import h5py
import numpy as np

import headway
from headway.heads.contribution_writer import write_contributions
from headway.results.head_table import head_label, head_name, head_table
from headway.heads.network_writer import Options, Source


class Tables(unittest.TestCase):
    def table(self):
        return head_table([5, 5, 6], [1, 2, 1], {"loss": [0.5, np.nan, 0.25]}, examples=3)

    def test_csv_has_a_row_for_each_head(self):
        self.assertEqual(self.table().to_csv(),
                         "layer,head,name,loss\n5,1,L5H1,0.5\n5,2,L5H2,\n6,1,L6H1,0.25\n")
        with tempfile.TemporaryDirectory() as folder:
            text = self.table().to_csv(Path(folder) / "heads.csv", column="loss")
            self.assertEqual((Path(folder) / "heads.csv").read_text(), text)
        self.assertEqual(text, "layer,1,2\n5,0.5,\n6,0.25,\n")

    def test_it_shows_itself(self):
        lines = repr(self.table()).splitlines()
        self.assertEqual(lines[0], "examples 3")
        self.assertEqual([line.split() for line in lines[3:]], [["5", "1", "L5H1", "0.5"], ["5", "2", "L5H2", "-"], ["6", "1", "L6H1", "0.25"]])
        page = head_table([1], [1], {"a<b": [1.0]}, ["<b>"])._repr_html_()
        self.assertIn("<td>&lt;b&gt;</td>", page)
        self.assertIn('<th scope="col">a&lt;b</th>', page)
        self.assertEqual(len(self.table()), 3)

    def test_wide_tables_are_shown_in_blocks(self):
        columns = {f"a_quantity_with_a_long_name_{at}": [at, 10.0 * at] for at in range(9)}
        with mock.patch.dict("os.environ", {"COLUMNS": "90"}):
            lines = repr(head_table([1, 1], [1, 2], columns, ["one", "two"])).splitlines()
        self.assertLessEqual(max(map(len, lines)), 90)
        headers = [line.split() for line in lines if line.strip().startswith("layer")]
        self.assertGreater(len(headers), 2)
        for header in headers:
            self.assertEqual(header[:3], ["layer", "head", "name"])
        self.assertEqual([name for header in headers for name in header[3:]], list(columns))
        self.assertEqual(sum("two" in line for line in lines), len(headers))

    def test_columns_of_older_versions_keep_their_sign(self):
        table = head_table([1, 1], [1, 2], {"loss_rise": [0.5, -0.25], "accuracy_drop": [0.1, 0.2]})
        self.assertEqual(table["loss_change"].tolist(), [0.5, -0.25])
        self.assertEqual(table["accuracy_change"].tolist(), [-0.1, -0.2])
        self.assertNotIn("loss_change", list(table))
        with self.assertRaisesRegex(headway.UsageError, "r2_change"):
            table["r2_change"]

    def test_its_columns_are_those_that_it_shows(self):
        table = self.table()
        self.assertEqual(list(table), ["layer", "head", "name", "loss"])
        self.assertTrue("loss" in table and "name" in table)
        self.assertFalse("score" in table or 3 in table or None in table)
        self.assertEqual([table[name].tolist() for name in ("layer", "head", "name")],
                         [[5, 5, 6], [1, 2, 1], ["L5H1", "L5H2", "L6H1"]])
        self.assertEqual(len(list(table)), len(table) + 1)
        for wrong in ("score", 0, None):
            with self.assertRaisesRegex(headway.UsageError, "allowed: layer, head, name, loss"):
                table[wrong]
        with self.assertRaisesRegex(headway.UsageError, "column: is 'name'; allowed: loss"):
            table.grid("name")

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_pandas_gets_the_columns(self):
        frame = self.table().to_pandas()
        self.assertEqual(list(frame.columns), ["layer", "head", "name", "loss"])
        self.assertEqual(frame.loc[2].tolist(), [6, 1, "L6H1", 0.25])
        self.assertTrue(np.isnan(frame.loss[1]))
        self.assertEqual(frame.attrs, {"examples": 3})

    def test_without_pandas_it_says_so(self):
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(headway.UnavailableError, "to_pandas: needs the package pandas"):
                self.table().to_pandas()

    def test_a_head_has_one_name(self):
        for name, known, label in (("", "L3H1", "L3H1"), ("head 1", "L3H1", "L3H1"), ("layer 5 head 4", "L5H4", "L5H4"),
                                   ("L5H4", "L5H4", "L5H4"), ("L6 residual", "L6 residual", "L6 residual"),
                                   ("induction", "induction", "L3H1 induction"), ("head 1b", "head 1b", "L3H1 head 1b")):
            self.assertEqual((head_name(3, 1, name), head_label(3, 1, name)), (known, label))

    def test_a_grid_has_nan_where_there_is_no_head(self):
        np.testing.assert_array_equal(self.table().grid("loss"), [[0.5, np.nan], [0.25, np.nan]])
        with self.assertRaisesRegex(headway.UsageError, "column: is 'x'; allowed: loss"):
            self.table().grid("x")


class Writer(unittest.TestCase):
    def write(self, path, parts, labels, **options):
        """Parts [P, p, N] of two layers of two parts, in blocks of uneven size; test is train again."""
        def blocks():
            yield SimpleNamespace(parts=parts[:70])
            yield SimpleNamespace(parts=parts[70:])
        sources = {name: Source(blocks, options.get("count", len(parts)), {"labels": labels})
                   for name in ("train", "test")}
        names = [["L1 residual", "L1H1"], ["L2 residual", "L2H1"]]
        write_contributions(path, sources, names,
                            Options("mean", None, None, "note", "float64", [1, 2]), True)

    def test_features_are_centred_and_scaled(self):
        parts = np.random.default_rng(1).normal(3.0, 2.0, (100, 4, 5))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.h5"
            self.write(path, parts, np.linspace(1.0, 3.0, 100))
            self.assertEqual(headway.check_dataset(path), [])
            with h5py.File(path) as file:
                centred = parts - parts.mean(0)
                expected = centred / np.sqrt((centred ** 2).mean())
                for split in ("train", "test"):
                    np.testing.assert_allclose(file[f"{split}/path_features"], expected, atol=1e-12)
                    np.testing.assert_allclose(file[f"{split}/labels"], np.linspace(-1.0, 1.0, 100),
                                               atol=1e-12)
                self.assertEqual(list(file["names/layer_2"].asstr()), ["L2 residual", "L2H1"])
            signs = np.resize([1.0, 1.0, -1.0], 100)
            self.write(path, parts, signs)
            with h5py.File(path) as file:
                np.testing.assert_array_equal(file["train/labels"], signs)

    def test_contributions_that_tell_nothing_or_are_incomplete_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.h5"
            for words, parts, options in (("the same on all examples", np.ones((80, 4, 5)), {}),
                                          ("answered for 80 of 90", np.ones((80, 4, 5)), {"count": 90})):
                with self.assertRaisesRegex(headway.BadDataError, words):
                    self.write(path, parts, np.resize([1.0, -1.0], options.get("count", 80)), **options)
            self.assertEqual(list(Path(folder).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
