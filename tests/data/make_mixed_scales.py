"""Writes golden/mixed_scales.h5: problems whose numbers have very different sizes, and their answers.

    python3 make_mixed_scales.py golden/mixed_scales.h5

All is computed from the definitions of src/theory/README.md in decimal arithmetic of 100 digits, apart
from the library: path features (eqs. 7 to 9), the saddle point (eqs. 18 to 21, by Newton's method along
geodesics from infinite width), its evidence (eq. 44), the predictor and the Gaussian process (eqs. 16,
17, 24). A gradient of 60 digits is left. Takes some minutes; names after the file choose problems.
"""

import sys
from decimal import Decimal, getcontext

import h5py
import numpy as np

getcontext().prec = 100
ZERO, ONE, TWO = Decimal(0), Decimal(1), Decimal(2)
ROOT2 = TWO.sqrt()
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def exact(a):
    return np.array([Decimal(float(x)) for x in np.ravel(a)], dtype=object).reshape(np.shape(a))


def eye(n):
    m = np.full((n, n), ZERO, dtype=object)
    m[np.arange(n), np.arange(n)] = ONE
    return m


def cholesky(a):
    """L with A = L L^T, or None."""
    n = len(a)
    low = np.full((n, n), ZERO, dtype=object)
    for j in range(n):
        d = a[j, j] - (low[j, :j].dot(low[j, :j]) if j else 0)
        if not d > 0:
            return None
        low[j, j] = d.sqrt()
        if j + 1 < n:
            low[j + 1:, j] = (a[j + 1:, j] - (low[j + 1:, :j].dot(low[j, :j]) if j else 0)) / low[j, j]
    return low


def half_solve(low, b):
    x = b.copy()
    for i in range(len(low)):
        x[i] = (x[i] - (low[i, :i].dot(x[:i]) if i else 0)) / low[i, i]
    return x


def half_solve_transposed(low, b):
    x = b.copy()
    for i in reversed(range(len(low))):
        x[i] = (x[i] - (low[i + 1:, i].dot(x[i + 1:]) if i + 1 < len(low) else 0)) / low[i, i]
    return x


def solve(low, b):
    return half_solve_transposed(low, half_solve(low, b))


def inverse(a):
    return solve(cholesky(a), eye(len(a)))


def logdet(low):
    return 2 * sum((low[i, i].ln() for i in range(len(low))), ZERO)


def svec(a):
    return np.array([a[i, j] if i == j else (a[i, j] + a[j, i]) / ROOT2
                     for i in range(len(a)) for j in range(i + 1)], dtype=object)


def smat(v, n):
    a = np.full((n, n), ZERO, dtype=object)
    k = 0
    for i in range(n):
        for j in range(i + 1):
            a[i, j] = a[j, i] = v[k] if i == j else v[k] / ROOT2
            k += 1
    return a


def basis(n):
    size = n * (n + 1) // 2
    unit = eye(size)
    return [smat(unit[k], n) for k in range(size)]


def map_matrix(n, function):
    """The matrix of a linear map of symmetric matrices in svec coordinates."""
    return np.array([svec(function(d)) for d in basis(n)], dtype=object).T


def expm(a):
    halvings = 0
    size = max(abs(x) for x in a.ravel()) * len(a)
    while size > Decimal("0.01"):
        size /= 2
        halvings += 1
    a = a / TWO ** halvings
    term = total = eye(len(a))
    for k in range(1, 60):
        term = term.dot(a) / k
        total = total + term
    for _ in range(halvings):
        total = total.dot(total)
    return total


class Problem:
    """One problem: `features` P x p x N_0 unscaled, exact; `labels` P x C."""

    def __init__(self, heads, widths, temperature, features, labels):
        self.heads, self.widths, self.t = heads, [Decimal(n) for n in widths], Decimal(float(temperature))
        self.layers, self.outputs = len(heads), labels.shape[1]
        self.paths, self.n0 = features.shape[1], features.shape[2]
        self.x = self.lift(features)
        self.y = exact(labels).T.reshape(-1)
        self.orders = [self.outputs * int(np.prod(heads[l:], dtype=int)) for l in range(self.layers + 1)]

    def lift(self, features):
        """Rows (c, example), columns (path, output, feature), scaled."""
        count, c, n0 = len(features), self.outputs, self.n0
        scale = ONE / Decimal(n0 * self.paths).sqrt()
        x = np.full((c * count, self.paths, c, n0), ZERO, dtype=object)
        for k in range(c):
            x[k * count:(k + 1) * count, :, k, :] = features * scale
        return x.reshape(c * count, -1)

    def mixed(self, x, u):
        rows, order = len(x), len(u)
        return np.tensordot(x.reshape(rows, order, self.n0), u, (1, 0)).transpose(0, 2, 1).reshape(rows, -1)

    def energy(self, u, second=False):
        k = self.mixed(self.x, u).dot(self.x.T)
        k[np.arange(len(k)), np.arange(len(k))] += self.t
        low = cholesky(k)
        if low is None:
            return None
        alpha = solve(low, self.y)
        half = half_solve(low, self.x)
        order, n0 = len(u), self.n0
        z = half.T.dot(half)
        v = self.x.T.dot(alpha).reshape(order, n0)
        blocks = z.reshape(order, n0, order, n0)
        gradient = blocks.trace(axis1=1, axis2=3) - v.dot(v.T)
        result = {"value": logdet(low) + self.y.dot(alpha), "gradient": gradient, "low": low, "alpha": alpha, "v": v}
        if not second:
            return result
        # tr(A C_ab A C_cd) = tr(Z_da Z_bc), and alpha^T C_ab A C_cd alpha = v_a^T Z_bc v_d.
        units = basis(order)
        moved = [np.tensordot(d, blocks, (1, 0)) for d in units]          # D Z
        flat = [m.reshape(order * n0, order * n0) for m in moved]
        dv = [d.dot(v).reshape(-1) for d in units]
        zdv = [z.dot(w) for w in dv]
        n = len(units)
        h = np.full((n, n), ZERO, dtype=object)
        for i in range(n):
            for j in range(i + 1):
                trace = (flat[i] * flat[j].T).sum()
                h[i, j] = h[j, i] = 2 * dv[i].dot(zdv[j]) - trace
        result["hessian"] = h
        return result

    def entropy(self, u, second=False):
        """Eq. 20 for variances 1, with gradients and Hessian."""
        lows = [cholesky(m) for m in u]
        if any(low is None for low in lows):
            return None
        inv = [solve(low, eye(len(low))) for low in lows]
        logs = [logdet(low) for low in lows]
        top = self.layers
        value = self.widths[top] * (np.trace(u[top]) - logs[top])
        gradient = [None] * top + [self.widths[top] * (eye(len(u[top])) - inv[top])]
        sizes = [n * (n + 1) // 2 for n in self.orders]
        at = np.concatenate([[0], np.cumsum(sizes)])
        h = np.full((at[-1], at[-1]), ZERO, dtype=object)
        block = lambda l, k: (slice(at[l], at[l + 1]), slice(at[k], at[k + 1]))
        if second:
            for l in range(top + 1):
                h[block(l, l)] = self.widths[l] * map_matrix(len(u[l]), lambda d, v=inv[l]: v.dot(d).dot(v))
        for l in reversed(range(top)):
            n, heads, q = self.widths[l], self.heads[l], len(u[l + 1])
            trace = sum((u[l][a * q:(a + 1) * q, a * q:(a + 1) * q] for a in range(1, heads)), u[l][:q, :q])
            v = inv[l + 1]
            value += n * ((v * trace).sum() - logs[l] + heads * logs[l + 1])
            spread = np.full(u[l].shape, ZERO, dtype=object)
            for a in range(heads):
                spread[a * q:(a + 1) * q, a * q:(a + 1) * q] = v
            vuv = v.dot(trace).dot(v)
            gradient[l] = n * (spread - inv[l])
            gradient[l + 1] = gradient[l + 1] + n * (heads * v - vuv)
            if second:
                h[block(l + 1, l + 1)] = h[block(l + 1, l + 1)] + map_matrix(
                    q, lambda d: n * (v.dot(d).dot(vuv) + vuv.dot(d).dot(v)) - n * heads * v.dot(d).dot(v))
                cross = []
                for d in basis(len(u[l])):
                    part = sum((d[a * q:(a + 1) * q, a * q:(a + 1) * q] for a in range(1, heads)), d[:q, :q])
                    cross.append(svec(-n * v.dot(part).dot(v)))
                h[block(l + 1, l)] = np.array(cross, dtype=object).T
                h[block(l, l + 1)] = np.array(cross, dtype=object)
        return {"value": value, "gradient": gradient, "hessian": h, "logs": logs, "lows": lows}

    def action(self, u, second=False):
        s = self.entropy(u, second)
        e = s and self.energy(u[0], second)
        if not e:
            return None
        gradient = list(s["gradient"])
        gradient[0] = gradient[0] + e["gradient"]
        if second:
            n = len(e["hessian"])
            s["hessian"][:n, :n] = s["hessian"][:n, :n] + e["hessian"]
        return {"value": s["value"] + e["value"], "gradient": gradient, "hessian": s["hessian"], "energy": e,
                "logs": s["logs"], "lows": s["lows"]}

    def saddle_point(self):
        u = [eye(n) for n in self.orders]
        scales = [svec(eye(n)) for n in self.orders]  # first a factor for each layer, then all entries
        at = np.concatenate([[0], np.cumsum([len(v) for v in scales])])
        few = np.full((at[-1], len(scales)), ZERO, dtype=object)
        for l, v in enumerate(scales):
            few[at[l]:at[l + 1], l] = v
        u, now = self.descend(u, few, Decimal("1e-3"), 100)
        u, now = self.descend(u, eye(at[-1]), Decimal("1e-60"), 400)
        return u, now

    def descend(self, u, directions, least, most):
        now = self.action(u, True)
        damping = ZERO
        for step in range(most):
            frames = now["lows"]
            g = [f.T.dot(m).dot(f) for f, m in zip(frames, now["gradient"])]
            flat = directions.T.dot(np.concatenate([svec(m) for m in g]))
            norm = max(abs(x) for x in flat) / max(self.widths)
            if norm < least:
                return u, now
            h = directions.T.dot(self.in_frames(now["hessian"], frames, g)).dot(directions)
            while True:
                shifted = h.copy()
                shifted[np.arange(len(h)), np.arange(len(h))] += damping
                low = cholesky(shifted)
                if low is not None:
                    e = directions.dot(-solve(low, flat))
                    size = e.dot(e).sqrt()
                    if size > 2:
                        e = e * (2 / size)
                    moved = self.move(frames, e)
                    trial = self.action(moved)
                    slope = flat.dot(directions.T.dot(e))
                    if trial and (trial["value"] <= now["value"] + slope / 10000 or norm < Decimal("1e-40")):
                        break
                damping = max(damping * 8, max(abs(h[i, i]) for i in range(len(h))) / 10 ** 6)
            u, now = moved, self.action(moved, True)
            damping = damping / 30 if damping > Decimal("1e-9") else ZERO
        if least < Decimal("1e-10"):
            raise SystemExit("no saddle point")
        return u, now

    def in_frames(self, hessian, frames, g):
        maps = [map_matrix(len(f), lambda d, f=f: f.dot(d).dot(f.T)) for f in frames]
        at = np.concatenate([[0], np.cumsum([len(m) for m in maps])])
        result = np.full(hessian.shape, ZERO, dtype=object)
        for i, a in enumerate(maps):
            for j, b in enumerate(maps):
                part = a.T.dot(hessian[at[i]:at[i + 1], at[j]:at[j + 1]]).dot(b)
                if i == j:
                    part = part + map_matrix(len(g[i]), lambda d, m=g[i]: (m.dot(d) + d.dot(m)) / 2)
                result[at[i]:at[i + 1], at[j]:at[j + 1]] = part
        return result

    def move(self, frames, e):
        moved, at = [], 0
        for f in frames:
            n = len(f)
            size = n * (n + 1) // 2
            m = f.dot(expm(smat(e[at:at + size], n))).dot(f.T)
            moved.append((m + m.T) / 2)
            at += size
        return moved

    def log_evidence(self, u, at):
        """Eq. 44."""
        size = sum(n * d for n, d in zip(self.widths, self.orders))
        volume = sum(((d + 1) * log for d, log in zip(self.orders, at["logs"])), ZERO)
        log_widths = sum((d * (d + 1) // 2 * n.ln() for n, d in zip(self.widths, self.orders)), ZERO)
        low = cholesky(at["hessian"])
        if low is None:
            return None
        return -(len(self.y) * (2 * PI).ln() + at["value"] - size + volume + logdet(low) - log_widths) / 2

    def predict(self, u, at, tests):
        x = self.lift(tests)
        mixed = self.mixed(x, u)
        cross = mixed.dot(self.x.T)
        half = half_solve(at["low"], cross.T)
        mean = cross.dot(at["alpha"])
        variance = (mixed * x).sum(axis=1) - (half * half).sum(axis=0)
        return mean, variance


def path_features(inputs, attention):
    """Eqs. 7 and 8 with the last token's readout; attention: for each layer P x H x S x S."""
    count, tokens, _ = inputs.shape
    weights = np.full((count, 1, tokens), ZERO, dtype=object)
    weights[:, 0, -1] = ONE
    for layer in reversed(attention):  # paths in the order (h_1, ..., h_L), h_1 slowest
        weights = np.stack([np.matmul(weights, layer[:, h]) for h in range(layer.shape[1])], axis=1)
        weights = weights.reshape(count, -1, tokens)
    return np.matmul(weights, inputs)


TESTS = 5


def draw(index, heads, examples, n0, outputs=1, **how):
    """A problem from numbers of few digits, so that the file stays small."""
    rng = np.random.default_rng(1000 + index)
    paths = int(np.prod(heads))
    normal = lambda *shape: np.round(rng.standard_normal(shape), 3)
    rows = examples + TESTS
    problem = {"heads": heads, "widths": how.get("widths", [10] * (len(heads) + 1)),
               "temperature": how["temperature"]}
    columns = np.asarray(how.get("columns", np.ones(n0)), dtype=float)
    offset = how.get("offset", 0.0)
    if how.get("inputs"):
        tokens = 3
        inputs = (normal(rows, tokens, n0) + offset) * columns
        attention = []
        for h in heads:
            a = rng.integers(0, 9, (rows, h, tokens, tokens)) + 1.0
            a = np.round(a / a.sum(axis=-1, keepdims=True) * 64) / 64
            a[..., -1] = 1 - a[..., :-1].sum(axis=-1)
            attention.append(a)
        problem["inputs"], problem["attention"] = inputs, attention
        told = inputs.mean(axis=1)
    else:
        x = normal(rows, paths, n0)
        if how.get("copy"):
            x[:, :, -1] = x[:, :, 0] + how["copy"] * normal(rows, paths)
        x = (x + offset) * columns * np.asarray(how.get("paths", np.ones(paths)), dtype=float)[:, None]
        x *= np.asarray(how.get("rows", 1.0)) if np.isscalar(how.get("rows", 1.0)) else np.resize(how["rows"], rows)[:, None, None]
        if how.get("duplicates"):
            x[1:examples:2] = x[0:examples - 1:2]
        problem["path_features"] = x
        told = x[:, 0, :]
    signal = ((told - told.mean(axis=0)) / np.where(told.std(axis=0) > 0, told.std(axis=0), 1))[:, 1:].sum(axis=1)
    labels = np.sign(signal + 1e-9)[:, None] if outputs == 1 else np.eye(outputs)[np.arange(rows) % outputs]
    if how.get("real", False):
        labels = np.round(signal[:, None] + 0.1 * normal(rows, outputs), 3)
    problem["labels"] = labels * how.get("labels", 1.0)
    problem["examples"] = examples
    return problem


def problems():
    ladder = lambda n: 10.0 ** np.linspace(-8, 8, n)
    one = lambda n, size: np.concatenate([[size], np.ones(n - 1)])
    few, many = dict(examples=7, n0=4), dict(examples=14, n0=2)  # of examples, beside 16 and 8 directions
    two, long = [2, 2], [2, 2, 2]
    all_of = {}
    add = lambda name, *a, **k: all_of.update({name: draw(len(all_of), *a, **k)})
    for t in (0.1, 1e-4, 1e-8, 1e-12):
        add(f"a column of 1e8, few examples, T = {t:g}", two, **few, columns=one(4, 1e8), temperature=t)
        add(f"a column of 1e8, many examples, T = {t:g}", two, **many, columns=one(2, 1e8), temperature=t, real=True)
        add(f"columns from 1e-8 to 1e8, T = {t:g}", two, 9, 5, columns=ladder(5), temperature=t)
        add(f"equal sizes, few examples, T = {t:g}", two, **few, temperature=t)
        add(f"equal sizes, many examples, T = {t:g}", two, **many, temperature=t, real=True)
    for t in (0.1, 1e-6, 1e-12):
        add(f"an offset of 1e6, few examples, T = {t:g}", two, **few, offset=1e6, temperature=t)
        add(f"an offset of 1e6, many examples, T = {t:g}", two, **many, offset=1e6, temperature=t, real=True)
        add(f"examples twice, T = {t:g}", two, 8, 3, duplicates=True, temperature=t, real=True)
    for size in (1e5, 1e-5):
        add(f"labels of {size:g}", two, **few, labels=size, temperature=0.1)
        add(f"real labels of {size:g}, many examples", two, **many, labels=size, temperature=0.1, real=True)
    add("labels of 1e5, features of 1e8, T = 1e-12", two, **few, labels=1e5, columns=np.full(4, 1e8), temperature=1e-12)
    add("paths of 1e8, 1, 1, 1e-8", two, **few, paths=[1e8, 1, 1, 1e-8], temperature=0.01)
    add("paths of 1e8, 1, 1, 1e-8, many examples", two, **many, paths=[1e8, 1, 1, 1e-8], temperature=0.01, real=True)
    add("examples of 1e-4 to 1e4", two, **few, rows=10.0 ** np.arange(-4, 5, 2), temperature=1e-3)
    add("all of 1e-8", [3], 8, 4, columns=np.full(4, 1e-8), temperature=1e-12)
    add("all of 1e8", [3], 8, 4, columns=np.full(4, 1e8), temperature=1.0)
    add("a column that is nearly a copy", two, **few, copy=1e-7, temperature=1e-6)
    add("one layer, a column of 1e8", [3], 9, 3, columns=one(3, 1e8), temperature=1e-3)
    add("one layer, an offset of 1e6", [3], 14, 2, offset=1e6, temperature=0.1, real=True)
    add("three layers, a column of 1e8", long, 8, 2, columns=one(2, 1e8), temperature=0.05, widths=[12, 9, 7, 15])
    add("three layers, an offset of 1e5", long, 8, 2, offset=1e5, temperature=0.05, widths=[12, 9, 7, 15])
    add("three layers, columns of 1e-8 and 1e4", long, 9, 2, columns=[1e-8, 1e4], temperature=1e-9, real=True)
    add("two outputs, a column of 1e8", [2], 6, 3, outputs=2, columns=one(3, 1e8), temperature=0.01)
    add("two outputs, an offset of 1e6", [2], 9, 2, outputs=2, offset=1e6, temperature=0.1)
    add("three outputs, columns from 1e-8 to 1e8", [2], 5, 3, outputs=3, columns=ladder(3), temperature=1e-6)
    add("two outputs of 1e5, T = 1e-12", [2], 6, 3, outputs=2, labels=1e5, temperature=1e-12)
    add("inputs with a column of 1e8", two, 8, 4, inputs=True, columns=one(4, 1e8), temperature=0.1)
    add("inputs with an offset of 1e6", two, 8, 3, inputs=True, offset=1e6, temperature=0.1)
    add("inputs, a column of 1e8, T = 1e-6", [3], 9, 3, inputs=True, columns=one(3, 1e8), temperature=1e-6)
    return all_of


def answer(problem):
    inputs, count = "inputs" in problem, problem["examples"]
    features = (path_features(exact(problem["inputs"]), [exact(a) for a in problem["attention"]])
                if inputs else exact(problem["path_features"]))
    task = Problem(problem["heads"], problem["widths"], problem["temperature"], features[:count],
                   problem["labels"][:count])
    u, at = task.saddle_point()
    mean, variance = task.predict(u[0], at["energy"], features[count:])
    limit = eye(task.orders[0])
    gp = task.energy(limit)
    gp_mean, gp_variance = task.predict(limit, gp, features[count:])
    shape = lambda v: np.array(v, dtype=float).reshape(task.outputs, -1).T
    evidence = task.log_evidence(u, at)
    found = {"action": float(at["value"] / max(task.widths)), "energy": float(at["energy"]["value"]),
             "log_evidence": float(evidence) if evidence is not None else np.nan, "mean": shape(mean),
             "variance": shape(variance), "U_a": np.array(u[-1], dtype=float),
             "gaussian_process/log_evidence": float(-(len(task.y) * (2 * PI).ln() + gp["value"]) / 2),
             "gaussian_process/mean": shape(gp_mean), "gaussian_process/variance": shape(gp_variance)}
    for l, m in enumerate(u[:-1], start=1):
        found[f"order_parameters/layer_{l}"] = np.array(m, dtype=float)
    return found


def main():
    wanted = sys.argv[2:]
    with h5py.File(sys.argv[1], "w", libver="latest") as h:  # small groups take little room
        h.attrs["command"] = "python3 make_mixed_scales.py golden/mixed_scales.h5"
        for number, (name, problem) in enumerate(problems().items()):
            if wanted and not any(word in name for word in wanted):
                continue
            group = h.create_group(f"problem_{number:02d}")
            group.attrs["name"] = name
            for key in ("heads", "widths", "temperature", "examples"):
                group.attrs[key] = problem[key]
            for key in ("inputs", "path_features", "labels"):
                if key in problem:
                    group.create_dataset(key, data=problem[key])
            for l, a in enumerate(problem.get("attention", []), start=1):
                group.create_dataset(f"attention/layer_{l}", data=a)
            answers = group.create_group("answers")
            for key, value in answer(problem).items():
                answers.attrs[key] = value
            print(name, answers.attrs["action"], flush=True)


if __name__ == "__main__":
    main()
