// What the controls of the page do.
(() => {
  const {html, written, numbers, matrixOf, DIVERGING, RISING, colour, look, chart, bars, grid, picture} = charts;
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);

  // ---- the explorer: one column a card, all at one width and temperature

  const explorer = at("explorer");
  const value = (id, otherwise) => at(id) ? at(id).value : otherwise;

  function explore() {
    const widths = JSON.parse(explorer.dataset.widths), temperatures = JSON.parse(explorer.dataset.temperatures);
    const columns = data.cards.map((result) => {
      const parts = {};
      const part = (name, heading) => html("div", {class: name}, html("h4", {}, heading), parts[name] = html("div"));
      const column = html("section", {class: "panel column", "aria-label": result.name}, html("h3", {}, result.name),
        parts.note = html("p", {class: "warning"}), parts.measures = html("dl"),
        html("div", {class: "parts"}, part("beside", "Theory beside samples"), part("matrix", "Order parameters"),
          part("scores", "Scores of heads"), part("prediction", "Predictions on the test set"),
          part("kernel", "Kernel of the training examples"),
          part("alignment", "Share of the labels explained by the first eigenvectors"), part("traces", "Draws")));
      at("columns").append(column);
      return {result, column, parts};
    });
    function show() {
      const [name, largest] = widths[at("width").value];
      const place = {name, largest, temperature: temperatures[at("temperature").value],
        source: at("source").value, layer: Number(value("layer", "1")) - 1};
      const chosen = [...at("explore").querySelectorAll("[name=shown]:checked")].map((box) => Number(box.value));
      const visible = columns.filter((_, index) => columns.length === 1 || chosen.includes(index));
      for (const id of ["width", "temperature"]) {
        const told = id === "width" ? place.name : `T = ${place.temperature}`;
        at(`${id}-shown`).textContent = told;
        at(id).setAttribute("aria-valuetext", told);
      }
      for (const one of columns) { // all of them before any is drawn: how wide one is depends on the others
        one.column.hidden = !visible.includes(one);
        one.column.classList.toggle("alone", visible.length === 1);
        const point = pointAt(one.result, place); // theory and samples need a row of their own
        one.column.classList.toggle("wide", place.source === "beside" && Boolean(point && point.sources.samples));
      }
      for (const one of visible) fillColumn(one, place);
      sweep(visible.map((one) => one.result), place);
      at("explored").textContent = `${place.name}, T = ${place.temperature}, ${data.sources[place.source]}. ` +
        visible.map(({result}) => told(result, place)).join("; ");
    }
    at("explore").addEventListener("input", show);
    explorer.addEventListener("submit", (event) => event.preventDefault());
    show();
  }
  function widthName(widths) {
    if (widths.every((width) => width === widths[0])) return `N = ${widths[0]}`;
    return widths.map((width, index) => `N${index === widths.length - 1 ? "a" : index + 1} = ${width}`).join(", ");
  }
  const pointAt = (result, place) => result.points.find((point) =>
    widthName(point.widths) === place.name && point.temperature === place.temperature);
  function told(result, place) {
    const point = pointAt(result, place), wanted = place.source === "beside" ? ["saddle_point", "samples"] : [place.source];
    const found = wanted.filter((one) => point && point.sources[one]);
    if (!found.length) return `${result.name}: nothing here`;
    const [name] = Object.keys(data.measures).filter((one) => point.sources[found[0]].measures[one] !== null);
    return `${result.name}: ${data.measures[name]} ` + found.map((one) => written(point.sources[one].measures[name]) +
      (place.source === "beside" ? ` (${data.sources[one]})` : "")).join(", ");
  }

  function fillColumn({result, column, parts}, place) {
    const point = pointAt(result, place), source = point && point.sources[place.source];
    const compared = place.source === "beside" && point ? point.beside : [], notes = [];
    if (!point) notes.push(`No point at ${place.name} and T = ${place.temperature}.`);
    else if (place.source === "beside" ? !compared.length : !source) notes.push(`“${data.sources[place.source]}” is not known at this point; `
      + `known: ${Object.keys(point.sources).map((one) => data.sources[one]).join(", ")}.`);
    else if (!point.converged && ["saddle_point", "beside"].includes(place.source)) notes.push("The theory is not converged.");
    if (source && source.warnings) notes.push(source.warnings);
    parts.note.textContent = notes.join(" ");
    parts.note.hidden = !notes.length;
    column.querySelector(".parts").hidden = !source && !compared.length;
    parts.measures.hidden = !source;
    // What is drawn must be in sight first: a chart takes the width of its place.
    const part = (name, present) => { parts[name].parentNode.hidden = !present; return present; };
    if (part("beside", compared.length > 0)) besides.beside(parts.beside, compared, data.agree);
    if (part("matrix", source)) heat(parts.matrix, result, source, Math.min(place.layer, result.layers - 1));
    if (part("scores", source)) scores(parts.scores, result, source);
    if (part("prediction", source && source.prediction)) prediction(parts.prediction, result, source.prediction);
    if (part("kernel", source && result.kernel && matrixOf(source.U[0]))) kernel(parts.kernel, result, source);
    if (part("alignment", source && point.alignment && ["saddle_point", "gaussian_process"].includes(place.source)))
      alignment(parts.alignment, point.alignment);
    if (part("traces", source && source.traces && source.traces.length)) traces(parts.traces, source.traces);
    if (source) parts.measures.replaceChildren(...Object.entries(source.measures).filter(([, measured]) => measured !== null).map(
      ([name, measured]) => html("div", {}, html("dt", {}, data.measures[name]), html("dd", {}, written(measured) +
        (source.errors && source.errors[name] ? ` ± ${written(source.errors[name].error, 2)}` : "")))));
  }

  function heat(where, result, source, layer) {
    const matrix = matrixOf(source.U[layer]);
    if (!matrix) return where.replaceChildren(html("p", {}, "Too large to be shown here."));
    grid(where, {matrix, names: pathNames(result, layer, matrix.length), told: spoken(result, matrix, layer),
      caption: `U${"₁₂₃₄₅₆₇₈₉"[layer] || layer + 1}, ${matrix.length} × ${matrix.length}: rows and columns are paths`,
      shade: (value) => 0.5 + 0.5 * Math.asinh(value / result.unit) / Math.asinh(Math.max(result.unit, largest(result)) / result.unit)});
  }
  function largest(result) { // of all points, so that colours mean the same as the sliders move
    if (result.largest === undefined) result.largest = Math.max(...result.points.flatMap((point) => Object.values(point.sources).flatMap(
      (source) => source.U.flatMap((item) => (matrixOf(item) || []).map((row) => row.reduce((most, value) => Math.max(most, Math.abs(value)), 0))))));
    return result.largest;
  }
  function pathNames(result, layer, size) {
    const paths = layer === 0 ? result.paths : [...new Set(result.paths.map((path) => `(${path.slice(1, -1).split(",").slice(layer).join(",")})`))];
    return Array.from({length: size}, (_, index) => paths[Math.floor(index / result.outputs)] +
      (result.outputs > 1 ? ` ${index % result.outputs + 1}` : ""));
  }
  function spoken(result, matrix, layer) {
    const names = pathNames(layer === 0 ? {...result, paths: result.path_names} : result, layer, matrix.length);
    const order = names.map((name, index) => [matrix[index][index], name]).sort((a, b) => b[0] - a[0]).slice(0, 5);
    return `Largest on the diagonal: ${order.map(([entry, name]) => `${name} ${written(entry, 3)}`).join(", ")}.`;
  }
  function scores(where, result, source) {
    const lists = [["Score: how much of U₁ lies on paths through the head, over the largest", source.scores]];
    if (source.losses) lists.push([source.losses.axis[0].toUpperCase() + source.losses.axis.slice(1) + " without the head", source.losses.values]);
    if (source.rises) lists.push([`Rise of the squared error on ${source.rises.set} without the head`, source.rises.theory],
      ["The same with U₁ = 1, without the theory", source.rises.control]);
    bars(where, lists, result.heads);
    if (result.size_warning) where.append(html("p", {class: "warning"}, `Beware: ${result.size_warning}.`));
  }

  function prediction(where, result, found) {
    if (!found) return;
    if (found.counts) {
      const centres = result.bins.slice(1).map((edge, index) => Number(((edge + result.bins[index]) / 2).toPrecision(3)));
      chart(where, {label: "Predictions", x: result.prediction_axis, y: "test examples", marker: 0, yFrom: 0,
        series: found.counts.map(({name, values}, index) => ({name, x: centres, y: values, steps: true, ...look(index)}))});
    } else chart(where, {label: "Predictions", x: "label", y: "mean predictor ± 1 standard deviation", diagonal: true,
      series: [{name: "test examples", x: found.label, y: found.mean, error: found.sd, line: false, dots: 2.5, ...look(0)}]});
  }

  function kernel(where, result, source) {
    const matrix = matrixOf(source.U[0]);
    if (!result.kernel || !matrix) return;
    const [paths, cells] = result.kernel.kernels.shape, flat = numbers(result.kernel.kernels);
    const sum = new Float64Array(cells * cells);
    for (let path = 0; path < paths; ++path) {
      let weight = 0;
      for (let output = 0; output < result.outputs; ++output)
        weight += matrix[path * result.outputs + output][path * result.outputs + output] / result.outputs;
      for (let index = 0; index < sum.length; ++index) sum[index] += weight * flat[path * sum.length + index];
    }
    const sorted = Float64Array.from(sum).sort(), high = sorted[Math.floor(0.995 * sum.length)] || 1, low = sorted[Math.floor(0.005 * sum.length)];
    const end = Math.max(high, -low), signed = low < -0.1 * high;
    const rows = Array.from({length: cells}, (_, row) => sum.subarray(row * cells, (row + 1) * cells));
    const groups = result.kernel.names.filter((name) => name).join(", ");
    const caption = `Σ U[π,π] C[π,π], the part of the kernel that pairs each path with itself; training examples sorted by label${groups ? ` (${groups})` : ""}; `
      + (signed ? `blue ${written(-end, 2)} to red ${written(end, 2)}` : `dark 0 to bright ${written(high, 2)}`);
    picture(where, rows, signed ? (value) => colour(DIVERGING, 0.5 + 0.5 * value / end) : (value) => colour(RISING, value / high),
      `${caption}. ${blocks(rows, result.kernel)}`, caption);
  }
  function blocks(rows, {borders, names}) {
    if (borders.length !== 2) return "";
    const mean = (rowFrom, rowTo, from, to) => {
      let total = 0;
      for (let row = rowFrom; row < rowTo; ++row) for (let column = from; column < to; ++column) total += rows[row][column];
      return written(total / Math.max(1, (rowTo - rowFrom) * (to - from)), 3);
    };
    const border = Math.round(borders[0] * rows.length), end = rows.length;
    return `Mean within ${names[0]}: ${mean(0, border, 0, border)}, within ${names[1]}: ${mean(border, end, border, end)}, between them: ${mean(0, border, border, end)}.`;
  }

  function alignment(where, found) {
    const series = (name, values, style) => ({name, x: values.map((_, index) => index + 1), y: values, ...style});
    chart(where, {label: "Alignment", x: "number of eigenvectors", y: "share of the labels", yFrom: 0, series: [
      series("renormalised kernel", found.theory, look(0)), series("Gaussian process", found.gaussian_process, {colour: "var(--limit)", dash: "6 3"})]});
  }

  function traces(where, quantities) {
    let select = where.querySelector("select");
    if (!select || select.options.length !== quantities.length) {
      select = html("select", {}, ...quantities.map(({name}, index) => html("option", {value: index}, name)));
      const draw = () => {
        const {name, step, draws} = select.quantities[select.value];
        chart(where.lastChild, {label: `Draws of ${name}`, x: "draw after warm-up", y: name, series: draws.map((chain, index) => (
          {name: `chain ${index + 1}`, x: chain.map((_, place) => place * step), y: chain, thin: true, ...look(index)}))});
      };
      select.addEventListener("input", (event) => { event.stopPropagation(); draw(); });
      select.draw = draw;
      where.replaceChildren(html("label", {class: "control"}, "Quantity ", select), html("div"));
    }
    select.quantities = quantities;
    quantities.forEach(({name}, index) => { select.options[index].textContent = name; });
    select.draw();
  }

  const LOOKS = {saddle_point: {colour: "var(--theory)", dots: 3.5}, corrected: {colour: "var(--corrected)", dash: "2 2.5", dots: 3.5},
    samples: {colour: "var(--samples)", dots: 4.5, line: false}, gaussian_process: {colour: "var(--limit)", dash: "6 3"}};
  function sweep(results, place) {
    const measure = at("measure").value, series = [];
    for (const result of results) for (const source of Object.keys(data.sources)) {
      const points = result.points.filter((point) => point.temperature === place.temperature && point.sources[source])
        .sort((a, b) => Math.max(...a.widths) - Math.max(...b.widths));
      const y = points.map((point) => point.sources[source].measures[measure]);
      if (y.every((value) => value === null)) continue;
      const errors = points.map((point) => (point.sources[source].errors || {})[measure] || {error: null, limit: null});
      const error = errors.map((one) => one.error), known = error.some((one) => one !== null);
      const style = {...LOOKS[source.replace(/_\d+$/, "")], ...(results.length > 1 ? {colour: look(results.indexOf(result)).colour} : {})};
      series.push({name: (results.length > 1 ? `${result.name}: ` : "") + data.sources[source] + (known ? ", bars: 95 %" : ""),
        x: points.map((point) => Math.max(...point.widths)), y, error: known ? error : undefined, bars: errors.map((one) => one.limit), named: true, ...style});
    }
    const widths = [...new Set(results.flatMap((result) => result.points.map((point) => Math.max(...point.widths))))].sort((a, b) => a - b);
    chart(at("sweep"), {label: `Against the width, T = ${place.temperature}`, x: "largest width N", y: data.measures[measure], logarithmic: true,
      xTicks: widths.length ? widths : undefined, marker: place.largest, series});
  }

  // ---- learning curves

  function learn() {
    const show = () => {
      const split = at("split").value, metric = at("metric").value, series = [];
      data.training.forEach((result) => result.curves.filter((curve) => curve.split === split && curve.metric === metric).forEach((curve) =>
        series.push({name: (data.training.length > 1 ? `${result.name}: ` : "") + curve.label + (curve.seeds > 1 ? ` (${curve.seeds} seeds, band: ± 1 standard error)` : ""),
          x: curve.steps, y: curve.mean, error: curve.error, named: true, ...look(series.length)})));
      chart(at("curves"), {label: `Learning curves on ${at("split").selectedOptions[0].textContent}`, x: "training step",
        y: at("metric").selectedOptions[0].textContent, logarithmic: at("logarithmic").checked, series});
    };
    at("learner").addEventListener("input", show);
    at("learner").addEventListener("submit", (event) => event.preventDefault());
    show();
  }

  // ---- tables that sort, colours

  function order(text) { // numbers before words, what is missing last
    const plain = text.trim().replace(/−/g, "-").replace(/^infinite$/, "Infinity").replace(/^\+/, "");
    if (plain === "" || plain === "-" || plain === "–") return [2, 0];
    const number = Number((plain.match(/^-?(Infinity|[\d.]+(e[-+]?\d+)?)/) || [NaN])[0]);
    return Number.isNaN(number) ? [1, plain] : [0, number];
  }
  function sort(table, header, column) {
    const rising = header.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [order(row.cells[column].textContent), row]);
    rows.sort(([[kindA, a]], [[kindB, b]]) => kindA - kindB || (rising ? 1 : -1) * (kindA === 1 ? a.localeCompare(b) : a < b ? -1 : a > b ? 1 : 0));
    body.append(...rows.map(([, row]) => row));
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", rising ? "ascending" : "descending");
  }
  for (const table of document.querySelectorAll("table.sortable"))
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = html("button", {type: "button"}, ...header.childNodes);
      button.addEventListener("click", () => sort(table, header, column));
      header.setAttribute("aria-sort", "none");
      header.append(button);
    });

  const theme = at("theme");
  try { theme.value = localStorage.getItem("headway-theme") || "auto"; } catch { /* a page from a file may have no storage */ }
  function paint() {
    if (theme.value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
  }
  theme.addEventListener("input", () => {
    paint();
    try { localStorage.setItem("headway-theme", theme.value); } catch { /* as above */ }
  });
  paint();
  if (explorer) explore();
  if (at("learner")) learn();
  if (at("coder")) networks.codes(data.codes);
  if (at("remover")) networks.removals(data.removals);
  if (at("evaluator")) networks.evaluations(data.evaluations);
})();
