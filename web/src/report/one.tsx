// One example: its source, and what two rows made of it, side by side.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { changed, go, type Address } from "../shared/address";
import { pack } from "../shared/packs";
import { SourceTable, SourceText } from "../shared/source";
import { FactTrail } from "./fact";
import { QuestionTrail } from "./question";
import type { Chunk, Context, Examples, Fact, Items, Question, Report } from "./types";

interface Props {
  readonly report: Report;
  readonly examples: Examples;
  readonly address: Address;
  readonly place: number;
  readonly places: readonly number[];
  readonly a: string;
  readonly b: string;
}

export function OneExample({ report, examples, address, place, places, a, b }: Props) {
  const [loaded, setLoaded] = useState<{ chunk: Chunk; items: Items } | null>(null);
  const [problem, setProblem] = useState("");
  const number = Math.floor(place / report.chunk);
  useEffect(() => {
    let current = true;
    Promise.all([pack<Chunk>(`details-${number}`), pack<Items>("items")]).then(
      ([chunk, items]) => current && setLoaded({ chunk, items }),
      (error: unknown) => current && setProblem(String(error)),
    );
    return () => {
      current = false;
    };
  }, [number, report]);
  const at = places.indexOf(place);
  const before = at > 0 ? places[at - 1] : undefined;
  const after = at >= 0 ? places[at + 1] : places[0];
  useLayoutEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement || e.ctrlKey || e.metaKey || e.altKey) return;
      const to = e.key === "j" ? after : e.key === "k" ? before : undefined;
      if (to !== undefined) go({ id: examples.ids[to] ?? "" });
      if (e.key === "Escape") go({ id: "" });
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [before, after, examples]);
  const id = examples.ids[place] ?? "";
  const groups = Object.entries(examples.groups).flatMap(([name, column]) => (column[place] ? [[name, column[place]] as const] : []));
  return (
    <article aria-labelledby="one">
      <nav class="bar" aria-label="Examples">
        <a href={changed(address, { id: "" })}>← All results</a>
        <button type="button" disabled={before === undefined} onClick={() => before !== undefined && go({ id: examples.ids[before] ?? "" })}>Previous <kbd>k</kbd></button>
        <button type="button" disabled={after === undefined} onClick={() => after !== undefined && go({ id: examples.ids[after] ?? "" })}>Next <kbd>j</kbd></button>
        {at >= 0 ? <span class="soft">{(at + 1).toLocaleString("en-US")} of {places.length.toLocaleString("en-US")}</span> : null}
        <RowChoice label="Left" name="b" value={b} report={report} />
        <RowChoice label="Right" name="a" value={a} report={report} />
      </nav>
      <h2 id="one"><span class="mono">{id}</span></h2>
      <p>
        <strong>Gold</strong> <span class="mono is-gold">{examples.golds[place]}</span>{" "}
        {groups.map(([name, value]) => <span class="chip" key={name}>{name}: {value}</span>)}
      </p>
      {problem ? <p class="bad">{problem}</p> : null}
      {loaded ? <Loaded {...loaded} id={id} place={place} a={a} b={b} gold={examples.golds[place] ?? ""} /> : <p class="wait soft">Unpacking ...</p>}
    </article>
  );
}

function RowChoice({ label, name, value, report }: { readonly label: string; readonly name: "a" | "b"; readonly value: string; readonly report: Report }) {
  return (
    <label>
      {label}
      <select value={value} onChange={(e) => go({ [name]: e.currentTarget.value })}>
        {report.rows.map((row) => <option key={row.row}>{row.row}</option>)}
      </select>
    </label>
  );
}

function Loaded({ chunk, items, id, place, a, b, gold }: { readonly chunk: Chunk; readonly items: Items; readonly id: string; readonly place: number; readonly a: string; readonly b: string; readonly gold: string }) {
  const fact = chunk.facts[id];
  const question = chunk.questions[id];
  const sides = a === b ? [a] : [b, a];
  return (
    <>
      {fact ? <FactSource fact={fact} context={chunk.contexts[fact.context]} /> : null}
      {question ? <Asked question={question} gold={gold} /> : null}
      {fact || question ? null : <p class="soft">The source is not in the data folder.</p>}
      <div class="sides">
        {sides.map((row) => {
          const detail = chunk.rows[row]?.[String(place)];
          return (
            <section class="side" key={row} aria-label={row}>
              <h3>{row}</h3>
              {detail === undefined ? <p class="soft">Not done.</p> : null}
              {detail?.e ? <p class="box bad-box">{detail.e[0]}: {detail.e[1]}</p> : null}
              {detail && !detail.e ? (
                detail.x ? <QuestionTrail detail={detail} items={items} gold={gold} question={question} /> : <FactTrail detail={detail} items={items} golds={gold.split(", ")} />
              ) : null}
            </section>
          );
        })}
      </div>
    </>
  );
}

function FactSource({ fact, context }: { readonly fact: Fact; readonly context: Context | undefined }) {
  return (
    <>
      <dl class="pairs">
        <dt>value</dt>
        <dd><strong>{fact.value}</strong> {fact.datatype ? <span class="soft">{fact.datatype}</span> : null}</dd>
        {fact.row_header ? <><dt>row</dt><dd>{fact.row_header}</dd></> : null}
        {fact.column_header ? <><dt>column</dt><dd>{fact.column_header}</dd></> : null}
        {fact.company ? <><dt>company</dt><dd>{fact.company} <span class="soft">{fact.filing_id}</span></dd></> : null}
      </dl>
      {context?.table ? <SourceTable rows={context.table} fact={fact} above={context.above} /> : null}
      {context?.text !== undefined ? <SourceText text={context.text} start={fact.mention_start} end={fact.mention_end} /> : null}
    </>
  );
}

function Asked({ question, gold }: { readonly question: Question; readonly gold: string }) {
  return (
    <>
      <p class="passage">{question.text}</p>
      <ul>
        {Object.entries(question.options).map(([key, text]) => (
          <li key={key} class={key === gold ? "is-gold" : undefined}><strong>{key}</strong> {text}{key === gold ? <span class="soft"> (gold)</span> : null}</li>
        ))}
      </ul>
    </>
  );
}
