// Moves between sliders, core and pictures. One thing is computed at a time, and the newest wish comes first.
"use strict";

const byId = (id) => document.getElementById(id);
const NAMES = { same_token: "same token as before", uniform: "uniform (averages)", random: "random" };
const START = { width: STUDY.width, temperature: STUDY.temperature, train: STUDY.train, heads: 15 };
const CURVE_POINTS = 17, DRAWN_AT_ONCE = 20;
const wish = { ...START };
let core, point, solved = false, curve = [], curveOf = "", before = [];

// Sliders of width and temperature are logarithmic.
const logarithmic = { width: true, temperature: true };
const fromSlider = (name, at) => {
  if (!logarithmic[name]) return at;
  const [low, high] = STUDY.ranges[name], value = low * (high / low) ** at;
  if (name === "temperature") return Number(value.toPrecision(2));
  return Math.max(low, Math.round(Number(value.toPrecision(value < 100 ? 2 : 3))));
};
const toSlider = (name, value) => {
  const [low, high] = STUDY.ranges[name];
  return logarithmic[name] ? Math.log(value / low) / Math.log(high / low) : value;
};

const headCounts = STUDY.heads.map((layer) => layer.length);
const shift = (layer) => headCounts.slice(0, layer).reduce((sum, count) => sum + count, 0);
const isOn = (layer, head) => (wish.heads >> (shift(layer) + head)) & 1;

// The paths whose heads are on, in the order of U_1.
function pathsOn() {
  const paths = [];
  STUDY.heads[0].forEach((first, a) => STUDY.heads[1].forEach((second, b) => {
    if (!isOn(0, a) || !isOn(1, b)) return;
    const name = second === "random" ? "adversarial" : first === "random" ? "denoising" : "good";
    paths.push({ name, number: `${a + 1},${b + 1}` });
  }));
  return paths;
}

function showControls() {
  for (const name of ["width", "temperature", "train"]) {
    const slider = byId(name), value = String(wish[name]);
    if (document.activeElement !== slider || fromSlider(name, Number(slider.value)) !== wish[name]) {
      slider.value = toSlider(name, wish[name]);
    }
    slider.setAttribute("aria-valuetext", value);
    document.querySelector(`output[for=${name}]`).textContent = value;
  }
  for (const box of byId("heads").querySelectorAll("input")) box.checked = isOn(+box.dataset.layer, +box.dataset.head);
}

function makeHeads() {
  byId("heads").innerHTML = STUDY.heads.map((layer, l) =>
    `<div class="layer"><span>layer ${l + 1}</span>${layer.map((kind, h) =>
      `<label class="switch"><input type="checkbox" role="switch" id="head-${l + 1}-${h + 1}" data-layer="${l}" data-head="${h}">` +
      `<span>${h + 1}: ${NAMES[kind]}</span></label>`).join("")}</div>`).join("");
}

function switchHead(box) {
  const layer = +box.dataset.layer, bit = 1 << (shift(layer) + +box.dataset.head);
  const others = STUDY.heads[layer].some((_, h) => isOn(layer, h) && !(bit >> (shift(layer) + h) & 1));
  byId("hint").textContent = "";
  if (!box.checked && !others) {
    byId("hint").textContent = "A layer needs at least one head.";
  } else {
    wish.heads = box.checked ? wish.heads | bit : wish.heads & ~bit;
  }
}

// What the curve says, as far as it is known.
function curveCaption() {
  const limit = point.gaussianAccuracy, gain = point.accuracy - limit;
  const best = Math.max(gain, ...curve.map(([, accuracy]) => accuracy - limit));
  const points = (share) => `${(100 * share).toFixed(1)} points`;
  if (gain < -0.005) return "Here a finite width costs some accuracy: there is little to choose between the paths that are on.";
  if (best < 0.01) return "Here width hardly matters: the paths that are on need no choice between them, or the data tell too little.";
  if (gain < 0.25 * best) {
    return `So wide a network is close to the Gaussian process. Narrower ones learn which paths to trust, and gain up to
      ${points(best)}.`;
  }
  return `The narrower the network, the more it can learn which paths to trust. The Gaussian process trusts all alike, and stays
    ${points(gain)} below.`;
}

function captions(paths) {
  const p = paths.length, diagonal = paths.map((path, k) => point.u[k * p + k]);
  const best = diagonal.indexOf(Math.max(...diagonal));
  byId("u-caption").innerHTML = p === 1
    ? `One path is left. At infinite width its entry is 1 whatever the data say. At <i>N</i> = ${wish.width} it is ${short(diagonal[0])}.`
    : `At infinite width this is 1 on the diagonal and 0 elsewhere, whatever the data say. At <i>N</i> = ${wish.width} the
      ${paths[best].name} path has ${short(diagonal[best])}. Off the diagonal, negative (orange) entries let one path cancel noise of another.`;
  byId("predictor-caption").innerHTML = `Each label's test examples should pile up at its dashed line, each colour on its own side of 0.
    What lies on the other side is classified wrongly. Where width matters, the first picture has the two piles further apart.`;
}

function show() {
  const paths = pathsOn();
  byId("accuracy").textContent = percent(point.accuracy);
  byId("gaussian").textContent = percent(point.gaussianAccuracy);
  const gain = 100 * (point.accuracy - point.gaussianAccuracy);
  byId("gain").textContent = `${gain < 0 ? "\u2212" : "+"}${Math.abs(gain).toFixed(1)} points`;
  byId("u").innerHTML = drawU(point, paths);
  const bound = Math.max(1.6, Math.ceil(5 * Math.min(2.6, Math.max(...point.mean.map(Math.abs)))) / 5);
  byId("predictor").innerHTML =
    drawPredictor(`theory, N = ${wish.width}`, "theory", point.mean, point.labels, bound) +
    drawPredictor("Gaussian process, N = \u221e", "gaussian", point.gaussianMean, point.labels, bound);
  captions(paths);
  byId("tests").textContent = point.labels.length;
  byId("time").textContent = `This point took ${Math.max(1, Math.round(point.milliseconds))} ms.`;
  showCurve();
}

function showCurve() {
  byId("curve").innerHTML = drawCurve(curve, curve.length < CURVE_POINTS ? before : [], point, wish.width, STUDY.ranges.width);
  byId("curve-caption").textContent = curveCaption();
}

// The next point of the curve, of the widest network first.
function extendCurve() {
  const [low, high] = STUDY.ranges.width, at = 1 - curve.length / (CURVE_POINTS - 1);
  const width = Math.round(low * (high / low) ** at);
  curve.push([width, core.solve({ ...wish, width }).accuracy]);
  showCurve();
}

function status(text, share) {
  byId("status").textContent = text;
  byId("progress").hidden = share === 1;
  byId("progress").value = share;
}

let awake = false;
function wake() {
  if (awake || !core) return;
  awake = true;
  setTimeout(work, 0);
}

// One step of work, then the page may react; again while anything is left.
function work() {
  awake = false;
  try {
    if (!core.ready) {
      status("Drawing examples", core.draw(DRAWN_AT_ONCE));
    } else if (!solved) {
      solved = true;
      const key = JSON.stringify({ ...wish, width: 0 });
      point = core.solve(wish);
      if (key !== curveOf) {
        if (curve.length === CURVE_POINTS) before = curve;  // stays, pale, until the new one is whole
        [curve, curveOf] = [[], key];
      }
      show();
      status(point.converged ? "" : "The saddle point did not converge here.", 1);
      document.body.dataset.shown = JSON.stringify(wish);
    } else if (curve.length < CURVE_POINTS) {
      extendCurve();
    } else {
      return;
    }
  } catch (error) {
    status(`This point cannot be computed: ${error.message}`, 1);
    return;
  }
  wake();
}

function changed() {
  solved = false;
  showControls();
  wake();
}

makeHeads();
showControls();
for (const name of ["width", "temperature", "train"]) {
  byId(name).addEventListener("input", (event) => {
    wish[name] = fromSlider(name, Number(event.target.value));
    changed();
  });
}
byId("heads").addEventListener("change", (event) => { switchHead(event.target); changed(); });
for (const button of document.querySelectorAll("button[data-set]")) {
  button.addEventListener("click", () => {
    Object.assign(wish, START, JSON.parse(button.dataset.set));
    byId("hint").textContent = "";
    changed();
  });
}
Core.load(MODULE).then((loaded) => {
  loaded.begin();
  core = loaded;
  wake();
}).catch((error) => status(`This browser cannot run the page: ${error.message}`, 1));
