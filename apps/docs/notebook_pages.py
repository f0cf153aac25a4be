"""Notebooks as Markdown: text, code, and the outputs that stand in them."""

import base64
import json

OPENINGS = 400  # characters of a line that are shown; longer ones are data


def page(notebook, pictures):
    """The notebook file as Markdown; its pictures go to the folder `pictures` beside the page."""
    cells, lines = json.loads(notebook.read_text(encoding="utf-8"))["cells"], []
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [source, ""]
            continue
        lines += ["```python", source, "```", ""]
        for place, output in enumerate(cell.get("outputs", [])):
            lines += _output(output, pictures, f"{notebook.stem}-{number}-{place}.png")
    return "\n".join(lines)


def _output(output, pictures, name):
    data = output.get("data", {})
    if "image/png" in data:
        pictures.mkdir(parents=True, exist_ok=True)
        (pictures / name).write_bytes(base64.b64decode("".join(data["image/png"])))
        return [f"![Output of the cell above]({pictures.name}/{name})", ""]
    text = "".join(output.get("text") or data.get("text/plain") or "")
    shown = "\n".join(line[:OPENINGS] for line in text.splitlines())
    return ["```text", shown, "```", ""] if shown.strip() else []


def index(notebooks):
    """The page that lists them, by their headings."""
    titles = []
    for notebook in notebooks:
        text = "".join(json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"])
        titles.append(f"- [{text.splitlines()[0].lstrip('# ')}]({notebook.stem}.md) ({{download}}`{notebook.name}`)")
    names = "\n".join(notebook.stem for notebook in notebooks)
    return "\n".join(["# Notebooks", "", "Walks through the studies.", "", *titles, "",
                      "```{toctree}", ":hidden:", names, "```", ""])
