// What a row made of a fact: hypotheses, queries, pool, verdicts, final order, the selector's choice.
import { amount, share } from "../shared/format";
import type { Detail, Items } from "./types";

interface Props {
  readonly detail: Detail;
  readonly items: Items;
  readonly golds: readonly string[];
  /** Without rank, work and final order. */
  readonly short?: boolean;
}

const LETTERS: Readonly<Record<string, readonly [mark: string, word: string]>> = { s: ["+", "support"], n: ["−", "no support"], x: ["·", "abstain"] };

function Concept({ items, of, golds }: { readonly items: Items; readonly of: number; readonly golds: readonly string[] }) {
  const id = items.ids[of] ?? "";
  const gold = golds.includes(id);
  return (
    <span class={`mono ${gold ? "is-gold" : ""}`} title={`${items.labels[of] ?? ""}${items.texts[of] ? `: ${items.texts[of]}` : ""}`}>
      {id}
      {gold ? <span class="hidden-text"> (gold)</span> : null}
    </span>
  );
}

export function FactTrail({ detail, items, golds, short = false }: Props) {
  return (
    <>
      {short ? null : <p>
        {detail.g === undefined ? null : detail.g ? <>The gold concept is at rank <strong>{detail.g}</strong>.</> : <span class="bad">The gold concept is not in the ranking.</span>}{" "}
        <Work detail={detail} />
      </p>}
      {detail.h ? <Hypotheses detail={detail} /> : null}
      {detail.q?.length ? <Queries detail={detail} items={items} golds={golds} /> : null}
      {detail.n ? (
        <details open={short}>
          <summary>Nearest precedents</summary>
          <ul class="small">{detail.n.map(([concept, whose, locus], i) => <li key={i}><Concept items={items} of={concept} golds={golds} /> <span class="soft">{whose}</span> {locus}</li>)}</ul>
        </details>
      ) : null}
      {detail.p ? (
        <details>
          <summary>Pool: {amount(detail.p[0])} candidates, fused</summary>
          <ol class="small">{detail.p[1].map((of, i) => <li key={of}><Concept items={items} of={of} golds={golds} /> <span class="soft">{share(detail.p?.[2][i])}</span></li>)}</ol>
        </details>
      ) : null}
      {detail.v?.map((one, i) => <Verdicts key={i} judged={one} dimensions={detail.d ?? []} items={items} golds={golds} />)}
      {short ? null : <Final detail={detail} items={items} golds={golds} />}
    </>
  );
}

export function Work({ detail }: { readonly detail: Detail }) {
  const calls = detail.m ?? [];
  const tokens = calls.reduce((sum, call) => sum + call[2] + call[3], 0);
  const counters = Object.entries(detail.c ?? {});
  return (
    <span class="soft small">
      {calls.length ? `${calls.length} model calls, ${amount(tokens)} tokens, ` : ""}
      {detail.t === undefined ? "" : `${detail.t} s`}
      {counters.length ? `; ${counters.map(([name, n]) => `${name.replaceAll("_", " ")} ${n}`).join(", ")}` : ""}
    </span>
  );
}

function Hypotheses({ detail }: { readonly detail: Detail }) {
  const all = detail.h ?? [];
  const names = [...new Set(all.flatMap(([values]) => Object.keys(values)))];
  const order = detail.d?.length ? [...detail.d.filter((d) => names.includes(d)), ...names.filter((n) => !detail.d?.includes(n))] : names;
  return (
    <div class="scroll">
      <table class="data small">
        <caption>Hypotheses; in brackets the categories that a value normalises to</caption>
        <thead>
          <tr><th scope="col">dimension</th>{all.map((_, j) => <th scope="col" key={j}>h{j + 1}</th>)}</tr>
        </thead>
        <tbody>
          {order.map((name) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {all.map(([values, categories], j) => (
                <td key={j}>
                  {values[name] ?? <span class="soft">unresolved</span>}
                  {categories[name] && values[name] !== undefined ? <span class="soft"> [{categories[name].join(", ") || "not in the vocabulary"}]</span> : null}
                </td>
              ))}
            </tr>
          ))}
          <tr><th scope="row">query</th>{all.map(([, , query], j) => <td key={j}>{query}</td>)}</tr>
        </tbody>
      </table>
    </div>
  );
}

function Queries({ detail, items, golds }: Props) {
  return (
    <details open={(detail.q?.length ?? 0) <= 4}>
      <summary>Queries ({detail.q?.length})</summary>
      <table class="data small">
        <thead><tr><th scope="col">of</th><th scope="col">query</th><th scope="col">best hits</th></tr></thead>
        <tbody>
          {detail.q?.map(([form, text, hypothesis, round, hits], i) => (
            <tr key={i}>
              <th scope="row">{hypothesis >= 0 ? `h${hypothesis + 1} ` : ""}{form}{round ? `, round ${round + 1}` : ""}</th>
              <td class="query">{text}</td>
              <td class="hits">{hits.slice(0, 3).map((of) => <div key={of}><Concept items={items} of={of} golds={golds} /></div>)}{hits.length ? null : <span class="soft">nothing</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function Verdicts({ judged, dimensions, items, golds }: { readonly judged: NonNullable<Detail["v"]>[number]; readonly dimensions: readonly string[]; readonly items: Items; readonly golds: readonly string[] }) {
  const [hypothesis, round, ids, letters] = judged;
  const title = `Verdicts under h${hypothesis + 1}${round ? `, round ${round + 1}` : ""}`;
  if (letters === null) return <p class="bad">{title}: the call failed; support is 0 for all.</p>;
  return (
    <details open={ids.length <= 12}>
      <summary>{title} ({ids.length} candidates)</summary>
      <div class="scroll">
        <table class="data small grid-verdicts">
          <thead>
            <tr>
              <th scope="col">candidate</th>
              {dimensions.map((d) => <th scope="col" key={d}>{d}</th>)}
            </tr>
          </thead>
          <tbody>
            {ids.map((of, i) => (
              <tr key={of}>
                <th scope="row"><Concept items={items} of={of} golds={golds} /></th>
                {[...(letters[i] ?? "")].map((letter, d) => (
                  <td key={d} class={`v-${letter}`}>
                    <span aria-hidden="true">{LETTERS[letter]?.[0]}</span>
                    <span class="hidden-text">{LETTERS[letter]?.[1]}</span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function Final({ detail, items, golds }: Props) {
  const [ids, scores] = detail.f ?? [[], []];
  const parts = Object.entries(detail.k ?? {});
  const selected = new Map((detail.s ?? []).map((of, i) => [of, i + 1]));
  if (!ids.length) return <p class="soft">Nothing was found.</p>;
  return (
    <div class="scroll">
      <table class="data small">
        <caption>Final order{detail.s ? "; selector: its own order of what it chose" : ""}</caption>
        <thead>
          <tr>
            <th scope="col" class="num">rank</th>
            <th scope="col">concept</th>
            <th scope="col" class="num">score</th>
            {parts.map(([name]) => <th scope="col" class="num" key={name}>{name.replaceAll("_", " ")}</th>)}
            {detail.s ? <th scope="col" class="num">selector</th> : null}
          </tr>
        </thead>
        <tbody>
          {ids.map((of, i) => (
            <tr key={of} class={golds.includes(items.ids[of] ?? "") ? "gold" : undefined}>
              <td class="num">{i + 1}</td>
              <td><Concept items={items} of={of} golds={golds} /><div class="soft">{items.labels[of]}</div></td>
              <td class="num">{share(scores[i])}</td>
              {parts.map(([name, values]) => <td class="num" key={name}>{share(values[i])}</td>)}
              {detail.s ? <td class="num">{selected.get(of) ?? ""}</td> : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
