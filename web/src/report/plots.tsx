// The plots of a run: recall by depth, risk and coverage, cost and quality, breakdowns.
import * as Plot from "@observablehq/plot";
import { go, type Address } from "../shared/address";
import { amount, share } from "../shared/format";
import { colourOf, Figure, Legend } from "../shared/plot";
import type { Breakdown, Report } from "./types";

const COSTS = ["tokens", "llm_calls", "seconds", "retrievals"] as const;
const STYLE = { background: "transparent", color: "currentColor", fontSize: "12px" };

export function Plots({ report, address }: { readonly report: Report; readonly address: Address }) {
  const names = report.rows.map((row) => row.row);
  const measure = measureOf(report, address["measure"]);
  return (
    <section aria-labelledby="plots">
      <h2 id="plots">Plots</h2>
      <Legend names={names} />
      <div class="plots">
        {Object.keys(report.curves).length ? <Recall report={report} names={names} /> : null}
        {Object.keys(report.risk).length ? <Risk report={report} names={names} /> : null}
        <Cost report={report} names={names} measure={measure} cost={address["cost"] ?? ""} />
      </div>
      {report.breakdowns.length ? <h3>Breakdowns: {measure}</h3> : null}
      <div class="bar">
        <label>
          Measure
          <select value={measure} onChange={(e) => go({ measure: e.currentTarget.value })}>
            {report.measures.map((m) => <option key={m}>{m}</option>)}
          </select>
        </label>
      </div>
      <div class="plots">
        {report.breakdowns.map((one) => <Groups key={one.field} breakdown={one} names={names} measure={measure} />)}
      </div>
    </section>
  );
}

export function measureOf(report: Report, asked: string | undefined): string {
  return asked !== undefined && report.measures.includes(asked) ? asked : report.headline;
}

function Recall({ report, names }: { readonly report: Report; readonly names: readonly string[] }) {
  const points = Object.entries(report.curves).flatMap(([row, curve]) => curve.map((recall, i) => ({ row, recall, k: report.ks[i] ?? 0 })));
  const colour = colourOf(names);
  const draw = (width: number) =>
    Plot.plot({
      width,
      height: 280,
      style: STYLE,
      x: { type: "log", label: "k", ticks: [1, 2, 5, 10, 20, 50, 100, 200], tickFormat: "d" },
      y: { label: "R@k", domain: [0, 1], grid: true },
      marks: [
        Plot.lineY(points, { x: "k", y: "recall", z: "row", stroke: (d: { row: string }) => colour(d.row), strokeWidth: 1.8 }),
        Plot.tip(points, Plot.pointer({ x: "k", y: "recall", title: (d: { row: string; k: number; recall: number }) => `${d.row}\nR@${d.k} ${share(d.recall)}` })),
      ],
    });
  const ends = Object.entries(report.curves).map(([row, curve]) => `${row} ${share(curve.at(-1))}`);
  return <Figure title="Recall by depth." summary={`R@${report.ks.at(-1)}: ${ends.join("; ")}.`} draw={draw} on={[report]} />;
}

function Risk({ report, names }: { readonly report: Report; readonly names: readonly string[] }) {
  const points = Object.entries(report.risk).flatMap(([row, curve]) => curve.map(([coverage, precision]) => ({ row, coverage, precision })));
  const colour = colourOf(names);
  const draw = (width: number) =>
    Plot.plot({
      width,
      height: 280,
      style: STYLE,
      x: { label: "share of facts accepted", domain: [0, 1] },
      y: { label: "precision", domain: [0, 1], grid: true },
      marks: [
        Plot.lineY(points, { x: "coverage", y: "precision", z: "row", stroke: (d: { row: string }) => colour(d.row), strokeWidth: 1.8 }),
        Plot.tip(points, Plot.pointer({ x: "coverage", y: "precision", title: (d: { row: string; coverage: number; precision: number }) => `${d.row}\n${share(d.coverage)} accepted: ${share(d.precision)} right` })),
      ],
    });
  return <Figure title="Risk and coverage." summary="The first concept, the surest facts first (by confidence, else by the score's margin)." draw={draw} on={[report]} />;
}

function costOf(report: Report, row: Report["rows"][number], name: string): number | null {
  if (name === "seconds") return row.seconds;
  const cost = row.cost ?? {};
  if (name === "tokens") {
    const sum = (cost["prompt_tokens"] ?? 0) + (cost["completion_tokens"] ?? 0);
    return report.rows.some((r) => (r.cost?.["prompt_tokens"] ?? 0) > 0) ? sum : null;
  }
  return cost[name] ?? null;
}

function Cost({ report, names, measure, cost }: { readonly report: Report; readonly names: readonly string[]; readonly measure: string; readonly cost: string }) {
  const useful = COSTS.filter((name) => report.rows.some((row) => (costOf(report, row, name) ?? 0) > 0));
  const by = useful.find((name) => name === cost) ?? useful[0];
  if (!by) return null;
  const points = report.rows.flatMap((row) => {
    const x = costOf(report, row, by);
    const y = row[measure];
    const interval = row.intervals[measure];
    return x === null || typeof y !== "number" ? [] : [{ row: row.row, x, y, low: interval?.[0] ?? y, high: interval?.[1] ?? y }];
  });
  const colour = colourOf(names);
  const fill = (d: { row: string }) => colour(d.row);
  const draw = (width: number) =>
    Plot.plot({
      width,
      height: 280,
      style: STYLE,
      x: { label: `${by.replace("_", " ")} per example`, nice: true, zero: true },
      y: { label: measure, grid: true, nice: true },
      marks: [
        Plot.ruleX(points, { x: "x", y1: "low", y2: "high", stroke: fill, strokeOpacity: 0.55 }),
        Plot.dot(points, { x: "x", y: "y", fill, r: 5 }),
        Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: (d: { row: string; x: number; y: number }) => `${d.row}\n${measure} ${share(d.y)}\n${amount(d.x)} ${by.replace("_", " ")}` })),
      ],
    });
  return (
    <div>
      <Figure title="Cost and quality." summary={points.map((p) => `${p.row} ${share(p.y)} at ${amount(p.x)}`).join("; ")} draw={draw} on={[report, by, measure]} />
      <label class="small no-print">
        Cost
        <select value={by} onChange={(e) => go({ cost: e.currentTarget.value })}>
          {useful.map((name) => <option key={name} value={name}>{name.replace("_", " ")}</option>)}
        </select>
      </label>
    </div>
  );
}

function Groups({ breakdown, names, measure }: { readonly breakdown: Breakdown; readonly names: readonly string[]; readonly measure: string }) {
  const rows = names.filter((name) => breakdown.rows[name]?.[measure]);
  const points = rows.flatMap((row) =>
    (breakdown.rows[row]?.[measure] ?? []).flatMap(([mean, low, high], i) => {
      const group = breakdown.groups[i];
      return mean === null || !group ? [] : [{ row, group: `${group[0]} (${group[1].toLocaleString("en-US")})`, mean, low: low ?? mean, high: high ?? mean }];
    }),
  );
  if (!points.length) return null;
  const colour = colourOf(names);
  const stroke = (d: { row: string }) => colour(d.row);
  const groups = breakdown.groups.map(([name, n]) => `${name} (${n.toLocaleString("en-US")})`);
  const draw = (width: number) =>
    Plot.plot({
      width,
      height: 34 + groups.length * Math.max(26, 7 * rows.length + 8),
      marginLeft: Math.min(240, 18 + 7.4 * Math.max(...groups.map((g) => g.length))),
      style: STYLE,
      x: { label: measure, domain: [0, 1], grid: true },
      y: { axis: null, domain: rows },
      fy: { label: null, domain: groups, axis: "left" },
      marks: [
        Plot.ruleY(points, { y: "row", fy: "group", x1: "low", x2: "high", stroke, strokeOpacity: 0.55 }),
        Plot.dot(points, { y: "row", fy: "group", x: "mean", fill: stroke, r: 3.4 }),
        Plot.tip(points, Plot.pointer({ x: "mean", y: "row", fy: "group", title: (d: { row: string; group: string; mean: number; low: number; high: number }) => `${d.row}, ${d.group}\n${share(d.mean)} [${share(d.low)}, ${share(d.high)}]` })),
      ],
    });
  return (
    <div>
      <Figure title={`By ${breakdown.field}.`} summary="" draw={draw} on={[breakdown, measure]} />
      <details class="small">
        <summary>As a table</summary>
        <table class="data">
          <thead>
            <tr>
              <th scope="col">row</th>
              {groups.map((g) => <th scope="col" class="num" key={g}>{g}</th>)}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row}>
                <th scope="row">{row}</th>
                {(breakdown.rows[row]?.[measure] ?? []).map(([mean, low, high], i) => (
                  <td class="num" key={i}>{share(mean)} <span class="interval">{mean === null ? "" : `[${share(low)}, ${share(high)}]`}</span></td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </div>
  );
}
