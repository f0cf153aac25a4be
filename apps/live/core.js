// The C++ core: its module, and its functions as JavaScript's. live.cpp has the other side.
"use strict";

const NUMBERS = ["accuracy", "gaussianAccuracy", "error", "gaussianError", "action", "readout", "converged", "iterations", "paths"];

class Core {
  static async load(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const core = new Core();
    const { instance } = await WebAssembly.instantiate(bytes, core.system());
    core.call = instance.exports;
    core.call._initialize();
    return core;
  }

  // What C++ asks of a system. The page has a clock and no environment.
  system() {
    const view = () => new DataView(this.call.memory.buffer);
    return {
      env: { emscripten_notify_memory_growth: () => {} },
      wasi_snapshot_preview1: {
        clock_time_get: (clock, precision, out) => {
          view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
          return 0;
        },
        environ_sizes_get: (count, size) => {
          view().setUint32(count, 0, true);
          view().setUint32(size, 0, true);
          return 0;
        },
        environ_get: () => 0,
        proc_exit: (code) => { throw new Error(`the core ended with ${code}`); },
      },
    };
  }

  check(fault) {
    if (fault === 0) return;
    const bytes = new Uint8Array(this.call.memory.buffer);
    const begin = this.call.live_error();
    throw new Error(new TextDecoder().decode(bytes.subarray(begin, bytes.indexOf(0, begin))));
  }

  numbers(address, count) {
    return Array.from(new Float64Array(this.call.memory.buffer, address, count));
  }

  begin() {
    this.check(this.call.live_begin(0));
    this.whole = this.call.live_left();
  }

  // Draws more examples. The share of all that are drawn.
  draw(count) {
    this.check(this.call.live_draw(count));
    return 1 - this.call.live_left() / this.whole;
  }

  get ready() { return this.call.live_left() === 0; }

  solve({ width, temperature, train, heads }) {
    const began = performance.now();
    this.check(this.call.live_solve(width, temperature, train, heads));
    const found = this.numbers(this.call.live_numbers(), NUMBERS.length);
    const point = Object.fromEntries(NUMBERS.map((name, i) => [name, found[i]]));
    const tests = this.call.live_test_examples();
    point.u = this.numbers(this.call.live_u(), point.paths ** 2);
    point.mean = this.numbers(this.call.live_mean(), tests);
    point.gaussianMean = this.numbers(this.call.live_gaussian_mean(), tests);
    point.labels = this.numbers(this.call.live_labels(), tests);
    point.milliseconds = performance.now() - began;
    return point;
  }

  // For the test: path features of P training and all test examples, each an array.
  features(train, columns) {
    const rows = train + this.call.live_test_examples();
    const all = this.numbers(this.call.live_features(train), rows * columns);
    return Array.from({ length: rows }, (_, i) => all.slice(i * columns, (i + 1) * columns));
  }
}
