// The report of a run: what changed, plots, examples; one example opened.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { go, useAddress } from "../shared/address";
import { plural } from "../shared/format";
import { follow } from "../shared/live";
import { embedded, pack } from "../shared/packs";
import { Facts, useChosen } from "./facts";
import { pairOf } from "./changes";
import { OneExample } from "./one";
import { measureOf, Plots } from "./plots";
import { Differences, Failures, Results } from "./results";
import type { Examples, Report, Values } from "./types";

interface Opened {
  readonly report: Report;
  readonly examples: Examples;
  readonly values: Values;
}

async function open(): Promise<Opened> {
  const report = embedded<Report>("data");
  const [examples, values] = await Promise.all([pack<Examples>("examples"), pack<Values>("values")]);
  return { report, examples, values };
}

function App() {
  const [opened, setOpened] = useState<Opened | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const load = () => open().then(setOpened, (error: unknown) => setProblem(String(error)));
    load();
    return embedded<Report>("data").served ? follow(load) : undefined;
  }, []);
  if (problem) return <p class="wait bad" role="alert">The page cannot be read: {problem}</p>;
  if (!opened) return <p class="wait">Opening ...</p>;
  return <Page {...opened} />;
}

function Page({ report, examples, values }: Opened) {
  const address = useAddress();
  const names = report.rows.map((row) => row.row);
  const [a, b] = pairOf(address, names, report.compare, report.baseline);
  const measure = measureOf(report, address["measure"]);
  const { places } = useChosen({ examples, values, address, a, b, measure });
  const place = address["id"] ? examples.ids.indexOf(address["id"]) : -1;
  useEffect(() => {
    document.title = place >= 0 ? `${address["id"]} - ${report.title}` : report.title;
    if (place >= 0) scrollTo(0, 0);
  }, [place, report]);
  const unfinished = report.rows.reduce((sum, row) => sum + row.of - row.done, 0);
  return (
    <>
      <a class="skip" href="#facts" onClick={(e) => { e.preventDefault(); document.getElementById("facts")?.scrollIntoView(); }}>To the examples</a>
      <header class="top">
        <h1>{report.experiment || "Run"}</h1>
        <p class="soft">
          {report.data}; {plural(report.rows.length, "row")}, {plural(report.count, "example")}
          {unfinished ? <span class="warn">; {unfinished.toLocaleString("en-US")} results are not done{report.served ? ", the page follows" : ""}</span> : null}
        </p>
      </header>
      <main>
        {report.notes.map((note) => <p class="box warn-box" key={note}>{note}</p>)}
        {address["id"] && place < 0 ? <p class="box warn-box">No example {address["id"]} in this run.</p> : null}
        {place >= 0 ? (
          <OneExample report={report} examples={examples} address={address} place={place} places={places} a={a} b={b} />
        ) : (
          <>
            <section aria-labelledby="changed">
              <h2 id="changed">What changed</h2>
              <Results report={report} a={a} b={b} pick={(row) => go({ a: row })} />
              {a === b ? null : <Differences report={report} a={a} b={b} />}
            </section>
            <Facts report={report} examples={examples} values={values} address={address} a={a} b={b} measure={measure} />
            <Plots report={report} address={address} />
            <Failures report={report} />
          </>
        )}
      </main>
    </>
  );
}

const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
