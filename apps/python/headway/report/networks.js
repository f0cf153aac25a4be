// Trained networks: latent codes, heads removed, metrics on other data. charts.js draws; report.js calls these.
const networks = (() => {
  const {html, written, RISING, colour, look, chart, tableOf, bars, grid} = charts;
  const at = (id) => document.getElementById(id);
  function controlled(form, show) { // draws now, and when a control of the form moves
    at(form).addEventListener("input", show);
    at(form).addEventListener("submit", (event) => event.preventDefault());
    show();
  }

  // ---- latent codes

  function codes(results) {
    const runs = results.flatMap((result) => result.runs);
    controlled("coder", () => {
      const run = runs[at("network").value], layer = run.layers[Math.min(at("code-layer").value, run.layers.length - 1)];
      const kind = at("similarity").value, decoder = at("decoder").value;
      decoding(results, decoder);
      map(layer);
      grid(at("alike"), {matrix: layer[kind], names: layer.labels, upTo: 24, caption: `Cosines of the mean codes, ${layer.name}`,
        told: `Pairs of codes of the same label ${written(layer.same, 3)}, of different labels ${written(layer.different, 3)}.`});
      at("decoders").replaceChildren(tableOf(`Decoders of ${run.name}, ${layer.name}`,
        ["decoder", "metric", "training tasks", "held-out tasks", "± tasks", "chance", "shuffled", "untrained"],
        layer.decoders.map(([name, metric, ...scores]) => [name, metric, ...scores.map((score) => written(score, 3))])));
      const found = layer.decoders.find(([name]) => name === decoder);
      at("coded").textContent = `${run.name}, ${layer.name}, ${layer.heads} heads` + (found
        ? `; ${decoder}: ${found[1]} ${written(found[3], 3)} on held-out tasks, chance ${written(found[5], 3)}` : "");
    });
  }
  function decoding(results, decoder) {
    const series = [];
    for (const result of results) for (const one of result.decoding[decoder] || []) {
      const name = (results.length > 1 ? `${result.name}: ` : "") + one.label + (one.seeds > 1 ? ` (${one.seeds} seeds)` : "");
      const x = one.mean.map((_, index) => index + 1), style = look(series.length / 2);
      series.push({name, x, y: one.mean, error: one.error, dots: 4, named: true, ...style},
        {name: `${name}: chance`, x, y: one.chance, thin: true, colour: style.colour, dash: "2 3"});
    }
    const places = [...new Set(series.flatMap((one) => one.x))].sort((a, b) => a - b);
    const [metric] = results.map((result) => result.decoders[decoder]).filter((name) => name);
    chart(at("decoding"), {label: `${decoder} on held-out tasks, by layer`, x: "layer (the last: all layers together)", y: metric,
      xTicks: places, yFrom: 0, series});
  }
  function map(layer) {
    const where = at("code-map");
    if (!layer.map) return where.replaceChildren(html("p", {}, "Codes of all layers together, and codes that are all the same, have no map."));
    if (where.querySelector(":scope > p")) where.replaceChildren();
    const {groups, shares} = layer.map, shade = (index) => `rgb(${colour(RISING, groups.length > 1 ? 0.9 * index / (groups.length - 1) : 0).join(" ")})`;
    chart(where, {label: `Codes of ${layer.name}, first two principal components`, x: `first component (${written(100 * shares[0], 2)} %)`,
      y: `second component (${written(100 * shares[1], 2)} %)`, series: groups.map(({name, x, y}, index) => (
        {name, x, y, line: false, dots: 3, named: true, ...(groups.length > 6 ? {colour: shade(index)} : look(index))}))});
  }

  // ---- heads removed

  function removals(results) {
    const runs = results.flatMap((result) => result.runs.map((run) => ({...run, result: result.name})));
    const named = (run) => (results.length > 1 ? `${run.result}: ` : "") + run.name;
    const columns = runs.map((run) => {
      const list = html("div"), table = html("div");
      at("removal-columns").append(html("section", {class: "panel column", "aria-label": named(run)}, html("h3", {}, named(run)), list, table));
      return {list, table};
    });
    function oneByOne(count, order, quality) {
      const told = count === 1 ? "1 head" : `${count} heads`;
      at("removed-shown").textContent = told;
      at("removed").setAttribute("aria-valuetext", told);
      const measured = runs.map((run) => run.orders[order] && run.orders[order][quality]);
      chart(at("removal-curves"), {label: `Heads removed: ${order}`, x: "heads removed", y: at("quality").selectedOptions[0].textContent,
        marker: count, series: runs.map((run, index) => ({run, found: measured[index]})).filter(({found}) => found).map(({run, found}, index) => (
          {name: named(run), x: found.mean.map((_, place) => place), y: found.mean, error: found.error, dots: 3, named: true, ...look(index)}))});
      at("removal-told").textContent = `${told} removed, ${order}: ` + runs.map((run, index) => `${named(run)} ` + (measured[index]
        ? written(measured[index].mean[Math.min(count, measured[index].mean.length - 1)], 3) : "unknown")).join("; ");
    }
    controlled("remover", () => {
      const quality = at("quality").value, alternative = at("alternative").value, ordered = at("order") !== null; // else only alone
      const count = ordered ? Number(at("removed").value) : 0, order = ordered ? at("order").value : "";
      if (ordered) oneByOne(count, order, quality);
      runs.forEach((run, index) => removed(run, columns[index], {count, order, quality, alternative}));
    });
  }
  function removed(run, {list, table}, {count, order, quality, alternative}) {
    const gone = new Set(((run.orders[order] || {}).removed || []).slice(0, count));
    const {mean, error} = run.costs[quality][alternative], cost = quality === "loss" ? "Rise of the loss" : `Drop of ${run.metric}`;
    bars(list, [[`${cost} on ${run.measured_on} without one head`, mean]],
      run.heads.map((head, index) => head + (gone.has(index) ? " (removed)" : "")));
    [...list.querySelectorAll("li")].forEach((item, index) => item.classList.toggle("gone", gone.has(index)));
    let details = table.querySelector("details");
    if (!details) table.append(details = html("details", {}, html("summary", {}, `Numbers: ${run.name}`), html("div")));
    details.lastChild.replaceChildren(tableOf(`Heads of ${run.name}`, ["head", cost, "±", "gradient sensitivity"],
      run.heads.map((head, index) => [head, written(mean[index]), written(error[index], 2), written(run.sensitivity[index], 3)])));
  }

  // ---- other data

  function evaluations(results) {
    controlled("evaluator", () => {
      const metric = at("evaluated-metric").value, name = at("evaluated-metric").selectedOptions[0].textContent;
      const values = results.flatMap((result) => result.values.filter((value) => value.metric === metric).map((value) => (
        {...value, label: (results.length > 1 ? `${result.name}: ` : "") + value.label})));
      const splits = [...new Set(values.map((value) => value.split))];
      const most = Math.max(...values.map((value) => Math.abs(value.mean || 0)));
      at("evaluated").replaceChildren(...splits.map((split) => {
        const here = values.filter((value) => value.split === split), list = html("div");
        bars(list, [[`${name} on ${split}`, here.map((value) => value.mean)]], here.map((value) => value.label), most);
        return html("section", {class: "panel column", "aria-label": split}, html("h3", {}, split), list,
          tableOf(`${name} on ${split}`, ["variant", "networks", name, "± over seeds"],
            here.map((value) => [value.label, value.seeds, written(value.mean), written(value.error, 2)])));
      }));
    });
  }

  return {codes, removals, evaluations};
})();
