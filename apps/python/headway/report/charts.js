"use strict";
// Charts, tables and colours, which know nothing of results; report.js draws with them.
const charts = (() => {
  // ---- small tools: elements, numbers, packed arrays

  const SVG = "http://www.w3.org/2000/svg";
  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {}))
      if (value !== undefined && value !== null) node.setAttribute(name, value);
    node.append(...(children || []));
    return node;
  }
  const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  function written(value, digits = 4) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    const text = value !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(digits - 2)
      : String(Number(value.toPrecision(digits)));
    return text.replace(/-/g, "−");
  }

  const unpacked = new WeakMap();
  function numbers(item) { // {shape, scale, data} of 16-bit integers, little end first
    if (!unpacked.has(item)) {
      const bytes = Uint8Array.from(atob(item.data), (letter) => letter.charCodeAt(0));
      const view = new DataView(bytes.buffer);
      unpacked.set(item, Float32Array.from({length: bytes.length / 2},
        (_, index) => item.scale * view.getInt16(2 * index, true)));
    }
    return unpacked.get(item);
  }
  function matrixOf(item) { // nested lists or packed, as rows
    if (!item || Array.isArray(item)) return item;
    const flat = numbers(item), [rows, columns] = item.shape;
    return Array.from({length: rows}, (_, row) => flat.subarray(row * columns, (row + 1) * columns));
  }

  const DIVERGING = ["#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582",
    "#d6604d", "#b2182b", "#67001f"];
  const RISING = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58",
    "#b5de2b", "#fde725"];
  function colour(map, share) { // red, green, blue at 0 <= share <= 1
    const place = Math.min(Math.max(share, 0), 1) * (map.length - 1), low = Math.floor(place);
    const part = (code, first) => parseInt(code.slice(first, first + 2), 16);
    const next = map[Math.min(low + 1, map.length - 1)];
    return [1, 3, 5].map((first) => Math.round(part(map[low], first) +
      (place - low) * (part(next, first) - part(map[low], first))));
  }

  function readable(background) { // black or white letters, whichever stand out more
    const [red, green, blue] = background.map((part) => part / 255).map((part) =>
      part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
  }

  // ---- a table of numbers behind every chart

  function tableOf(caption, header, rows) {
    const cells = (tag, values, scope) => values.map((value) => html(tag, {scope}, String(value)));
    return html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
      html("table", {}, html("caption", {}, caption),
        html("thead", {}, html("tr", {}, ...cells("th", header, "col"))),
        html("tbody", {}, ...rows.map(([first, ...rest]) =>
          html("tr", {}, ...cells("th", [first], "row"), ...cells("td", rest))))));
  }
  function behind(where, summary, make) { // made when it is opened, and again while it stays open
    let details = where.querySelector(":scope > details");
    if (!details) {
      details = html("details", {}, html("summary", {}, summary), html("div"));
      details.addEventListener("toggle", () => details.open && details.make());
      where.append(details);
    }
    details.make = () => details.lastChild.replaceChildren(make());
    if (details.open) details.make();
  }

  // ---- charts: lines, dots and steps over one axis

  const COLOURS = ["theory", "corrected", "samples", "fourth", "fifth", "sixth"].map((name) => `var(--${name})`);
  const DASHES = ["", "6 3", "2 2.5", "8 3 2 3"];
  const look = (index) => ({colour: COLOURS[index % COLOURS.length], dash: DASHES[Math.floor(index / COLOURS.length) % 4]});

  function ticks(low, high, logarithmic) {
    if (logarithmic) {
      const found = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
        for (const step of [1, 3]) if (step * 10 ** power >= low * 0.999 && step * 10 ** power <= high * 1.001)
          found.push(step * 10 ** power);
      return found.length > 1 ? found : [low, high];
    }
    const rough = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power, found = [];
    for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; ++index) found.push(index * step);
    return found;
  }
  function range(values, padded) {
    let low = Infinity, high = -Infinity;
    for (const value of values) if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
    if (low > high) [low, high] = [0, 1];
    const room = padded ? 0.06 * (high - low) || Math.abs(high) * 0.05 || 0.5 : 0;
    return [low - room, high + room];
  }

  // Charts are drawn at their own width, so that letters keep their size. A ruler as wide as the chart and without height
  // tells when that changes: before the first paint, when a hidden chart is shown, and with the window.
  const rulers = new ResizeObserver((entries) => entries.forEach(({target}) => {
    if (target.clientWidth && target.clientWidth !== target.drawnAt) target.redraw();
  }));
  function rulerOf(where) {
    let ruler = where.querySelector(":scope > .ruler");
    if (!ruler) {
      where.prepend(ruler = html("div", {class: "ruler"}), html("div", {class: "drawn"}));
      rulers.observe(ruler);
    }
    return ruler;
  }

  // series: {name, x, y, error, bars, colour, dash, dots, line, steps, named}; bars: errors on each side, 1 by default, or a list;
  // marker: a place on the x axis
  function chart(where, options) {
    const {label, x, y, xTicks, logarithmic, series, marker, diagonal, yFrom} = options;
    const shown = series.filter((one) => one.y.some((value) => Number.isFinite(value)));
    const ruler = rulerOf(where), figure = ruler.nextSibling;
    ruler.drawnAt = ruler.clientWidth;
    ruler.redraw = () => chart(where, options);
    if (!shown.length) {
      figure.replaceChildren(html("p", {}, "No such numbers at this point."));
      behind(where, `Numbers: ${label}`, () => html("p", {}, "None."));
      return;
    }
    const width = Math.max(260, ruler.clientWidth || 560), height = Math.round(Math.min(340, Math.max(210, 0.5 * width)));
    const box = {left: 62, right: 16, top: 10, bottom: 44};
    const xs = shown.flatMap((one) => one.x), wide = logarithmic && Math.min(...xs) > 0;
    let [x0, x1] = range([...xs, ...(marker === undefined ? [] : [marker])], false);
    if (x0 === x1) [x0, x1] = wide ? [x0 / 2, x1 * 2] : [x0 - 1, x1 + 1];
    let [y0, y1] = range(shown.flatMap((one) => one.y.flatMap((value, index) => {
      const error = sides(one, index) * ((one.error && one.error[index]) || 0);
      return value === null ? [] : [value - error, value + error];
    })).concat(yFrom === undefined ? [] : [yFrom]), true);
    const [least, most] = y.includes("R²") ? [-Infinity, 1] : /accuracy|probability/.test(y) ? [0, 1] : [-Infinity, Infinity];
    [y0, y1] = [Math.max(y0, least), Math.min(y1, most)];
    const along = wide ? (value) => Math.log(value / x0) / Math.log(x1 / x0) : (value) => (value - x0) / (x1 - x0);
    const px = (value) => box.left + along(value) * (width - box.left - box.right);
    const py = (value) => height - box.bottom - (Math.min(most, Math.max(least, value)) - y0) / (y1 - y0) * (height - box.top - box.bottom);
    const drawing = svg("svg", {class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label":
      `${label}: ${y} against ${x}; ${shown.map((one) => one.name).filter((name) => name).join(", ")}. The numbers follow in a table.`});
    for (const tick of ticks(y0, y1, false)) drawing.append(
      svg("line", {class: "grid", x1: box.left, x2: width - box.right, y1: py(tick), y2: py(tick)}),
      svg("text", {x: box.left - 7, y: py(tick) + 4, "text-anchor": "end"}, written(tick)));
    let free = -Infinity;
    for (const tick of xTicks || ticks(x0, x1, wide)) {
      drawing.append(svg("line", {class: "axis", x1: px(tick), x2: px(tick), y1: height - box.bottom, y2: height - box.bottom + 4}));
      const text = written(tick), half = 3.6 * text.length;
      if (px(tick) - half < free) continue;
      free = px(tick) + half + 6;
      drawing.append(svg("text", {x: px(tick), y: height - box.bottom + 18, "text-anchor": "middle"}, text));
    }
    drawing.append(svg("line", {class: "axis", x1: box.left, x2: width - box.right, y1: height - box.bottom, y2: height - box.bottom}),
      svg("text", {x: (box.left + width - box.right) / 2, y: height - 6, "text-anchor": "middle"}, x),
      svg("text", {transform: `translate(13 ${(height - box.bottom + box.top) / 2}) rotate(-90)`, "text-anchor": "middle"}, y));
    if (marker !== undefined) drawing.append(svg("line", {x1: px(marker), x2: px(marker), y1: box.top, y2: height - box.bottom,
      stroke: "var(--muted)", "stroke-dasharray": "3 3"}));
    if (diagonal) {
      const low = Math.max(x0, y0), high = Math.min(x1, y1);
      if (low < high) drawing.append(svg("line", {x1: px(low), y1: py(low), x2: px(high), y2: py(high), stroke: "var(--muted)"}));
    }
    for (const one of shown) drawing.append(...marks(one, px, py));
    const key = html("ul", {class: "keys"}, ...shown.filter((one) => one.name).map((one) => html("li", {}, svg("svg", {viewBox: "0 0 27 12", "aria-hidden": "true"},
      ...(one.line === false ? [] : [svg("line", {x1: 0, x2: 27, y1: 6, y2: 6, stroke: one.colour, "stroke-width": 2.5, "stroke-dasharray": one.dash})]),
      ...(one.dots ? [svg("circle", {cx: 13, cy: 6, r: 4, fill: one.colour})] : [])), one.name)));
    figure.replaceChildren(drawing, ...(shown.length > 1 || shown[0].named ? [key] : []));
    behind(where, `Numbers: ${label}`, () => numbersOf(label, x, shown.filter((one) => one.name)));
  }
  const sides = (one, index) => (Array.isArray(one.bars) ? one.bars[index] : one.bars) || 1;
  function marks(one, px, py) {
    const found = [], known = one.y.map((value) => Number.isFinite(value) && value !== null);
    if (one.error && one.dots) one.y.forEach((value, index) => known[index] && one.error[index] > 0 && found.push(svg("line",
      {class: "bar", x1: px(one.x[index]), x2: px(one.x[index]), y1: py(value - sides(one, index) * one.error[index]),
        y2: py(value + sides(one, index) * one.error[index]),
        stroke: one.colour})));
    else if (one.error) {
      const inside = one.y.map((_, index) => index).filter((index) => known[index] && Number.isFinite(one.error[index]) && one.error[index] !== null);
      const edge = (sign) => (index) => `${px(one.x[index]).toFixed(1)},${py(one.y[index] + sign * one.error[index]).toFixed(1)}`;
      if (inside.length > 1) found.push(svg("polygon", {points: [...inside.map(edge(1)), ...inside.reverse().map(edge(-1))].join(" "),
        fill: one.colour, opacity: 0.18}));
    }
    if (one.line !== false) {
      let path = "", pen = "M";
      one.y.forEach((value, index) => {
        if (!known[index]) { pen = "M"; return; }
        const here = py(value).toFixed(1);
        path += one.steps && pen === "L" ? `H${px(one.x[index]).toFixed(1)}V${here}` : `${pen}${px(one.x[index]).toFixed(1)} ${here}`;
        pen = "L";
      });
      found.push(svg("path", {d: path, fill: "none", stroke: one.colour, "stroke-width": one.thin ? 1 : 2, "stroke-dasharray": one.dash}));
    }
    if (one.dots) one.y.forEach((value, index) => known[index] && found.push(svg("circle", {cx: px(one.x[index]).toFixed(1),
      cy: py(value).toFixed(1), r: one.dots, fill: one.colour}, svg("title", {}, `${one.name}: ${written(value)} at ${written(one.x[index])}`))));
    return found;
  }
  function numbersOf(label, x, shown) {
    const places = [...new Set(shown.flatMap((one) => one.x))].sort((a, b) => a - b), most = 400;
    const lookup = shown.map((one) => new Map(one.x.map((place, index) => [place, [one.y[index], one.error && one.error[index]]])));
    const cell = (found) => found ? written(found[0]) + (Number.isFinite(found[1]) && found[1] ? ` ± ${written(found[1], 2)}` : "") : "";
    return tableOf(label + (places.length > most ? ` (first ${most} of ${places.length} rows)` : ""), [x, ...shown.map((one) => one.name)],
      places.slice(0, most).map((place) => [written(place), ...lookup.map((map) => cell(map.get(place)))]));
  }

  // ---- matrices and bars

  // A square matrix as a table of coloured numbers, or a picture of more than upTo rows; shade: 0 to 1, told: what a picture says in words
  function grid(where, {matrix, names, caption, told, upTo = 12, shade = (value) => 0.5 + 0.5 * value}) {
    if (matrix.length > upTo) return picture(where, matrix, (value) => colour(DIVERGING, shade(value)), `${caption}. ${told}`, caption);
    const cells = (row) => Array.from(row, (value) => {
      const background = colour(DIVERGING, value === null ? 0.5 : shade(value));
      const cell = html("td", {}, written(value, Math.abs(value) < 1 ? 2 : 3));
      cell.style.background = `rgb(${background.join(" ")})`;
      cell.style.color = readable(background);
      return cell;
    });
    where.replaceChildren(html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
      html("table", {class: matrix.length > 6 ? "heat small" : "heat"}, html("caption", {}, caption),
        html("thead", {}, html("tr", {}, html("td"), ...names.map((one) => html("th", {scope: "col"}, one)))),
        html("tbody", {}, ...matrix.map((row, index) => html("tr", {}, html("th", {scope: "row"}, names[index]), ...cells(row)))))));
  }
  function picture(where, matrix, shade, label, caption) { // a canvas, with what it shows in words
    let canvas = where.querySelector("canvas");
    if (!canvas) where.replaceChildren(canvas = html("canvas", {role: "img"}), html("p", {class: "status"}));
    canvas.width = canvas.height = matrix.length;
    const context = canvas.getContext("2d"), image = context.createImageData(matrix.length, matrix.length);
    matrix.forEach((row, index) => row.forEach((value, column) => image.data.set([...shade(value), 255], 4 * (index * matrix.length + column))));
    context.putImageData(image, 0, 0);
    canvas.setAttribute("aria-label", label);
    where.querySelector("p").textContent = caption;
  }

  function bars(where, lists, names, longest) { // [title, values] each, one bar a name; longest: the value of a bar of full length
    where.replaceChildren(...lists.flatMap(([title, values]) => {
      const most = longest || Math.max(...values.map((value) => Math.abs(value || 0))) || 1;
      return [html("p", {class: "status"}, title), html("ul", {class: "bars"}, ...values.map((value, index) => {
        const bar = html("div", {class: value < 0 ? "bar minus" : "bar", "aria-hidden": "true"});
        bar.style.width = `${100 * Math.abs(value || 0) / most}%`;
        return html("li", {}, html("span", {}, names[index]), html("div", {}, bar),
          html("span", {class: "value"}, value === null ? "undefined" : written(value, 3)));
      }))];
    }));
  }

  return {html, written, numbers, matrixOf, DIVERGING, RISING, colour, look, chart, tableOf, grid, picture, bars};
})();
