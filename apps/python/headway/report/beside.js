// Theory beside samples at one point: a table with differences in standard errors, and charts. report.js calls it.
const besides = (() => {
  const {html, written, chart, tableOf} = charts;
  const THEORIES = [["theory", "saddle point", "var(--theory)"], ["corrected", "1/N-corrected", "var(--corrected)"]];
  const TITLES = {entries: "Entries of U₁", apart: "Entries of U₁: theory less samples, in standard errors",
    predictions: "Mean predictor on the test set: samples less theory"};
  const finite = (value) => value !== null && value !== undefined;

  // One block for each sampler; `agree`: standard errors that chance makes, where a row has no `limit` of its own
  function beside(where, tables, agree) {
    while (where.children.length > tables.length) where.lastChild.remove();
    while (where.children.length < tables.length) where.append(html("div", {class: "compare"},
      ...["numbers", "predictor", "entries", "apart", "predictions"].map((name) => html("div", {class: name}, ...(TITLES[name] ?
        [html("p", {class: "status"}, TITLES[name]), html("div")] : [])))));
    tables.forEach((table, index) => fill(where.children[index], table, agree));
  }
  function fill(block, table, agree) {
    const [numbers, predictor, entries, apart, predictions] = block.children;
    const theories = THEORIES.filter(([key]) => [...table.scalars, ...table.entries].some((row) => finite(row[key])));
    const sampled = table.sampler !== null, measured = theories.filter((_, index) => sampled && table.known[index] > 0);
    numbers.replaceChildren(numbersOf(table, theories, agree));
    if (table.warnings) numbers.append(html("p", {class: "warning"}, table.warnings));
    predictor.replaceChildren(...(sampled && table.predictor && theories.length ? [predictorOf(table, theories)] : []));
    shown(entries, sampled, (place) => drawEntries(place, table, theories, agree));
    shown(apart, measured.length > 0, (place) => drawApart(place, table, measured, agree));
    shown(predictions, sampled && table.predictor && theories.length > 0, (place) => drawPredictions(place, table.predictor, theories));
  }
  function shown(where, present, draw) {
    where.hidden = !present;
    if (present) draw(where.lastChild);
  }

  function told(apart, limit) { // "+1.3 ✓" within `limit` standard errors, "+8.2 ✗" beyond
    if (!finite(apart)) return "–";
    const text = Math.abs(apart) >= 100 ? written(apart, 3) : written(Number(apart.toFixed(1)), 3);
    return `${apart > 0 ? "+" : ""}${text} ${!finite(limit) ? "" : Math.abs(apart) <= limit ? "✓" : "✗"}`;
  }
  function numbersOf(table, theories, agree) {
    const sampled = table.sampler !== null;
    const name = sampled ? `posterior samples${table.sampler ? ` (${table.sampler})` : ""}` : "";
    const header = ["quantity", ...theories.map(([, label]) => label),
      ...(sampled ? [`${name} ± standard error`, ...theories.map(([, label]) => `${label} less samples`)] : [])];
    const line = (row, label) => [label, ...theories.map(([key]) => written(row[key])), ...(sampled ? [
      written(row.mean) + (finite(row.error) && finite(row.mean) ? ` ± ${written(row.error, 2)}` : ""),
      ...theories.map(([key]) => told(row.apart[key === "theory" ? 0 : 1], row.limit))] : [])];
    const rows = [...table.scalars.map((row) => line(row, row.name)), ...table.entries.map((row) => line(row, `U₁ ${row.name}`))];
    if (sampled && theories.length) rows.push(["entries of U₁ that agree", ...theories.map(() => ""), "", ...theories.map(([key]) => {
      const index = key === "theory" ? 0 : 1;
      return table.known[index] ? `${table.within[index]} of ${table.known[index]}` : "–";
    })]);
    const some = table.entries.length < table.of ? ` Of ${table.of} entries of U₁ the ${table.entries.length} largest are listed.` : "";
    const own = table.scalars.find((row) => row.limit !== agree && finite(row.error) && finite(row.limit));
    const by = own ? ` Of the ${own.name}, whose error comes from ${table.chains} chains, ${written(own.limit, 3)}.` : "";
    const caption = !sampled ? `Theory; there are no samples at this point.${some}` : !theories.length ?
      `Posterior samples; this point has no theory.${some}` :
      `Theory beside samples. The last columns are differences in standard errors of the samples; ✓: at most ${agree}, ✗: more.${by}${some}`;
    const found = tableOf(caption, header, rows);
    found.classList.add("compared");
    for (const cell of found.querySelectorAll("td"))
      if (cell.textContent.endsWith("✓")) cell.classList.add("agrees");
      else if (cell.textContent.endsWith("✗")) cell.classList.add("differs");
    return found;
  }
  function predictorOf({predictor}, theories) {
    const of = (list, how) => theories.map(([key]) => {
      const value = list[key === "theory" ? 0 : 1];
      return finite(value) ? how(value) : "–";
    });
    const found = tableOf(`Mean predictor, ${predictor.examples} predictions on the test set: how far the theory is from the samples`,
      ["", ...theories.map(([, label]) => label)], [
        ["root-mean-square distance", ...of(predictor.distance, (value) => written(value, 3))],
        ...(finite(predictor.error) ? [["standard error of the samples, root mean square", ...theories.map(() => written(predictor.error, 3))],
        ["distance / standard error: about 1 if the theory is exact", ...of(predictor.ratio, (value) => written(value, 3))],
        [`predictions at most ${written(predictor.limit, 3)} standard errors apart: 95 % if the theory is exact`, ...of(predictor.within, (value) => `${written(100 * value, 3)} %`)]] : [])]);
    found.classList.add("compared");
    return found;
  }

  function drawEntries(where, table, theories, agree) {
    const places = table.entries.map((_, index) => index + 1), shift = 0.16;
    chart(where, {label: "Entries of U₁", x: "entry, in the order of the table", y: "entry of U₁", xTicks: places, series: [
      ...theories.map(([key, label, colour], index) => ({name: label, x: places.map((place) => place + (index - 1) * shift),
        y: table.entries.map((row) => row[key]), line: false, dots: 3.5, named: true, colour})),
      {name: `posterior samples ± ${agree} standard errors`, x: places.map((place) => place + shift), y: table.entries.map((row) => row.mean),
        error: table.entries.map((row) => row.error), bars: agree, line: false, dots: 3.5, named: true, colour: "var(--samples)"}]});
  }
  function drawApart(where, table, theories, agree) {
    const places = table.entries.map((_, index) => index + 1), ends = [0.5, places.length + 0.5];
    const limit = (value, name) => ({name, x: ends, y: [value, value], colour: "var(--muted)", dash: "4 3", thin: true, named: name !== ""});
    chart(where, {label: "Entries of U₁: theory less samples", x: "entry, in the order of the table", y: "difference in standard errors", xTicks: places,
      series: [limit(agree, `agreement: ± ${agree}`), limit(-agree, ""), ...theories.map(([key, label, colour], index) => ({name: label,
        x: places.map((place) => place + (index - 0.5) * 0.2), y: table.entries.map((row) => row.apart[key === "theory" ? 0 : 1]),
        line: false, dots: 3.5, named: true, colour}))]});
  }
  function drawPredictions(where, {dots, limit}, theories) {
    chart(where, {label: "Mean predictor: samples less theory", x: "mean predictor of the samples", y: "samples less theory",
      series: theories.map(([key, label, colour]) => ({name: label + (finite(limit) ? `, bars: ± ${written(limit, 3)} standard errors (95 %)` : ""), x: dots.mean,
        y: dots[key].map((value, index) => finite(value) && finite(dots.mean[index]) ? dots.mean[index] - value : null),
        error: dots.error, bars: limit, line: false, dots: 2, named: true, colour})), yFrom: 0});
  }

  return {beside};
})();
