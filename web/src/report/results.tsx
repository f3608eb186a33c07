// The table of results: values with intervals, marks of significance, the paper's numbers; and the differences.
import { pValue, plural, share, signed } from "../shared/format";
import type { Report, Row } from "./types";

function value(row: Row, measure: string): number | undefined {
  const found = row[measure];
  return typeof found === "number" ? found : undefined;
}

export function Results({ report, a, b, pick }: { readonly report: Report; readonly a: string; readonly b: string; readonly pick: (row: string) => void }) {
  const failed = report.rows.some((row) => row.failed > 0);
  const best = new Map(report.measures.map((m) => [m, Math.max(...report.rows.map((row) => value(row, m) ?? -1))]));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Results">
      <p class="soft small" id="results-note">
        In brackets: 95% intervals, resampling source contexts. ▲ ▼: differs from {report.baseline ?? "the baseline"} (p &lt; .05, Holm over
        rows). In parentheses: the paper's value. Choose a row to compare it.
      </p>
      <table class="data" aria-describedby="results-note">
        <thead>
          <tr>
            <th scope="col">row</th>
            <th scope="col" class="num">n</th>
            {failed ? <th scope="col" class="num">failed</th> : null}
            {report.measures.map((m) => <th scope="col" class="num" key={m}>{m}</th>)}
          </tr>
        </thead>
        <tbody>
          {report.rows.map((row) => (
            <tr key={row.row} class={row.row === a ? "is-a" : undefined}>
              <th scope="row">
                <button type="button" aria-pressed={row.row === a} onClick={() => pick(row.row)} title="Compare this row">{row.row}</button>
                {row.row === b ? <span class="soft small"> baseline</span> : null}
                {row.done < row.of ? <span class="warn small"> {row.done.toLocaleString("en-US")} of {row.of.toLocaleString("en-US")}</span> : null}
              </th>
              <td class="num">{row.n.toLocaleString("en-US")}</td>
              {failed ? <td class={`num ${row.failed ? "bad" : ""}`}>{row.failed || ""}</td> : null}
              {report.measures.map((m) => <Value key={m} row={row} measure={m} best={best.get(m) ?? -1} />)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Value({ row, measure, best }: { readonly row: Row; readonly measure: string; readonly best: number }) {
  const mean = value(row, measure);
  const paper = row.reference?.[measure];
  if (mean === undefined) return <td class="num soft">{paper === undefined ? "" : `(${share(paper)})`}</td>;
  const mark = row.marks[measure];
  const interval = row.intervals[measure];
  const sd = row.sd?.[measure];
  return (
    <td class={`num ${mean === best && mean > 0 ? "best" : ""}`}>
      {share(mean)}
      {sd === undefined || sd === null ? "" : ` ± ${share(sd)}`}
      {mark ? (
        <span class={mark === "+" ? "good" : "bad"}>
          <span aria-hidden="true">{mark === "+" ? "▲" : "▼"}</span>
          <span class="hidden-text">{mark === "+" ? " better" : " worse"}</span>
        </span>
      ) : null}
      {paper === undefined ? null : <span class="soft"> ({share(paper)})</span>}
      {interval ? <span class="interval">[{share(interval[0])}, {share(interval[1])}]</span> : null}
    </td>
  );
}

export function Differences({ report, a, b }: { readonly report: Report; readonly a: string; readonly b: string }) {
  const found = report.compare.find((one) => one.a === a && one.b === b);
  if (!found) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Differences">
      <p class="soft small" id="differences-note">{a} minus {b}, paired by example, with 95% intervals</p>
      <table class="data" aria-describedby="differences-note">
        <thead>
          <tr>{Object.keys(found.measures).map((m) => <th scope="col" class="num" key={m}>{m}</th>)}</tr>
        </thead>
        <tbody>
          <tr>
            {Object.entries(found.measures).map(([m, [mean, low, high, p]]) => (
              <td class={`num ${p < 0.05 ? (mean > 0 ? "good" : "bad") : ""}`} key={m}>
                {signed(mean)}
                <span class="interval">[{signed(low)}, {signed(high)}]</span>
                <span class="interval">p {p < 0.001 ? "" : "= "}{pValue(p)}</span>
              </td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
}

export function Failures({ report }: { readonly report: Report }) {
  if (!report.failures.length) return null;
  return (
    <section aria-labelledby="failures">
      <h2 id="failures">Failures</h2>
      <p class="soft small">{plural(report.failures.length, "kind")} of failure; failures count as wrong.</p>
      <div class="scroll">
        <table class="data">
          <thead><tr>{["row", "failed", "error", "for example", "reason"].map((c) => <th scope="col" key={c}>{c}</th>)}</tr></thead>
          <tbody>{report.failures.map((line, i) => <tr key={i}>{line.map((cell, j) => <td key={j}>{cell}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </section>
  );
}
