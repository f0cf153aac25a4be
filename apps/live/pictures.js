// The pictures, as SVG in the colours of the style sheet.
"use strict";

const svg = (width, height, label, inside) =>
  `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">${inside}</svg>`;
const line = (x1, y1, x2, y2, style) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" class="${style}"/>`;
const words = (x, y, text, style = "", more = "") => `<text x="${x}" y="${y}" class="${style}" ${more}>${text}</text>`;
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const short = (x) => (Math.abs(x) < 0.005 ? "0" : x.toFixed(Math.abs(x) < 9.995 ? 2 : 1)).replace("-", "\u2212");

// U_1 as a heat map. The depth of a colour goes with the root of |U|, so that small entries show beside a large one.
function drawU(point, paths) {
  const side = 320, left = 128, top = 56, p = paths.length, cell = side / p;
  const largest = Math.max(2, ...point.u.map(Math.abs));
  let inside = "";
  point.u.forEach((value, k) => {
    const row = k % p, column = Math.floor(k / p);
    const depth = Math.sqrt(Math.abs(value) / largest);
    const x = left + column * cell, y = top + row * cell;
    inside += `<rect x="${x + 1}" y="${y + 1}" width="${cell - 2}" height="${cell - 2}" rx="4" class="${value < 0 ? "minus" : "plus"}"
      fill-opacity="${depth.toFixed(3)}"/>` +
      words(x + cell / 2, y + cell / 2 + 6, short(value), depth > 0.62 ? "entry deep" : "entry");
  });
  paths.forEach((path, k) => {
    const middle = k * cell + cell / 2;
    inside += words(left - 10, top + middle - 2, `(${path.number})`, "end") + words(left - 10, top + middle + 15, path.name, "end faint");
    inside += words(left + middle, top - 12, `(${path.number})`, "middle");
  });
  inside += words(left + side / 2, 14, "path (head of layer 1, head of layer 2)", "middle faint");
  return svg(left + side + 8, top + side + 6, `U_1 between ${p} paths; diagonal ${paths.map((path, k) =>
    `${path.name} ${short(point.u[k * p + k])}`).join(", ")}`, inside);
}

// Accuracy against width. `curve`: [width, accuracy] as far as they are computed. `before`: the curve before it, drawn pale.
function drawCurve(curve, before, point, width, range) {
  const box = { left: 62, top: 14, right: 432, bottom: 308 };
  const all = [point.accuracy, point.gaussianAccuracy, ...curve.map((one) => one[1])];
  const low = Math.max(0, Math.min(0.75, Math.floor(20 * (Math.min(...all) - 0.01)) / 20)), high = 1;
  const x = (n) => box.left + (box.right - box.left) * Math.log(n / range[0]) / Math.log(range[1] / range[0]);
  const y = (a) => box.bottom - (box.bottom - box.top) * (a - low) / (high - low);
  let inside = "";
  const step = high - low > 0.3 ? 0.1 : 0.05;
  for (let a = low; a < high + 1e-9; a += step) {
    inside += line(box.left, y(a), box.right, y(a), "grid") + words(box.left - 8, y(a) + 5, (100 * a).toFixed(0), "end");
  }
  for (let n = 1; n <= range[1]; n *= 10) {
    if (n >= range[0]) inside += line(x(n), box.bottom, x(n), box.bottom + 5, "axis") + words(x(n), box.bottom + 21, n, "middle");
  }
  inside += line(box.left, box.bottom, box.right, box.bottom, "axis");
  inside += words((box.left + box.right) / 2, box.bottom + 43, "width N (neurons a layer)", "middle");
  inside += words(0, 0, "accuracy on test examples (%)", "middle", `transform="translate(16 ${(box.top + box.bottom) / 2}) rotate(-90)"`);
  inside += line(box.left, y(point.gaussianAccuracy), box.right, y(point.gaussianAccuracy), "gaussian dashed");
  const below = point.gaussianAccuracy < 0.93;
  inside += words(box.left + 8, y(point.gaussianAccuracy) + (below ? 18 : -8), "Gaussian process, N = \u221e", "gaussian");
  const places = (points) => points.map(([n, a]) => `${x(n).toFixed(1)},${y(Math.max(a, low)).toFixed(1)}`).join(" ");
  inside += `<polyline class="theory pale" points="${places(before)}"/><polyline class="theory" points="${places(curve)}"/>`;
  inside += line(x(width), y(point.accuracy) + 7, x(width), box.bottom, "theory thin");
  inside += `<circle class="theory" cx="${x(width)}" cy="${y(point.accuracy)}" r="7"/>`;
  const atEnd = x(width) > 300;
  inside += words(x(width) + (atEnd ? -12 : 12), Math.max(y(point.accuracy) - 10, 14), `N = ${width}: ${percent(point.accuracy)}`,
                  atEnd ? "end theory strong" : "theory strong");
  return svg(456, 362, `Accuracy ${percent(point.accuracy)} at width ${width}; Gaussian process ${percent(point.gaussianAccuracy)}`, inside);
}

// How the mean predictor is spread over test examples of each label.
function drawPredictor(title, style, mean, labels, bound) {
  const box = { left: 14, right: 446, top: 34, bottom: 176 }, bins = 48;
  const x = (f) => box.left + (box.right - box.left) * (f + bound) / (2 * bound);
  const counts = { "1": new Array(bins).fill(0), "-1": new Array(bins).fill(0) };
  mean.forEach((f, i) => {
    const bin = Math.floor(bins * (f + bound) / (2 * bound));
    counts[labels[i]][Math.max(0, Math.min(bins - 1, bin))] += 1;
  });
  const most = Math.max(...counts["1"], ...counts["-1"]);
  const outline = (values) => {
    const wide = (box.right - box.left) / bins;
    return `M${box.left},${box.bottom}` + values.map((count, k) => {
      const height = (box.bottom - box.top) * count / most;
      return `V${(box.bottom - height).toFixed(1)}H${(box.left + (k + 1) * wide).toFixed(1)}`;
    }).join("") + `V${box.bottom}Z`;
  };
  const wrong = mean.filter((f, i) => f * labels[i] <= 0).length;
  let inside = words(box.left, 16, title, `${style} strong`) +
    words(box.right, 16, `wrong sign: ${wrong} of ${mean.length}`, "end");
  inside += `<path d="${outline(counts["-1"])}" class="negative"/><path d="${outline(counts["1"])}" class="positive"/>`;
  inside += line(box.left, box.bottom, box.right, box.bottom, "axis") + line(x(0), box.top - 6, x(0), box.bottom, "axis");
  for (const f of [-1, 0, 1]) {
    inside += line(x(f), box.bottom, x(f), box.bottom + 5, "axis") + words(x(f), box.bottom + 21, `${f}`.replace("-", "\u2212"), "middle");
    if (f !== 0) inside += line(x(f), box.top - 6, x(f), box.bottom, f > 0 ? "positive-line dashed" : "negative-line dashed");
  }
  inside += words(x(-1) - 8, box.top + 12, "label \u22121", "end negative-text") + words(x(1) + 8, box.top + 12, "label +1", "positive-text");
  inside += words((box.left + box.right) / 2, box.bottom + 42, "mean predictor f(x) (in units of the label); height: test examples", "middle faint");
  return svg(460, 226, `${title}: ${wrong} of ${mean.length} test examples have the wrong sign`, inside);
}
