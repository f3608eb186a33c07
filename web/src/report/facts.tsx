// The examples of a run, filtered; what two rows made of each in one line.
import { useMemo } from "preact/hooks";
import { changed, go, type Address } from "../shared/address";
import { plural, share, signed } from "../shared/format";
import { LongList } from "../shared/virtual";
import { changeOf, chosen, deltas, GROUP } from "./changes";
import type { Examples, Report, Values } from "./types";

const LINE = 30;

interface Props {
  readonly report: Report;
  readonly examples: Examples;
  readonly values: Values;
  readonly address: Address;
  readonly a: string;
  readonly b: string;
  readonly measure: string;
}

export function useChosen({ examples, values, address, a, b, measure }: Omit<Props, "report">): { delta: (number | null)[]; places: number[] } {
  const delta = useMemo(() => deltas(values, a, b, measure), [values, a, b, measure]);
  const places = useMemo(() => chosen(examples, delta, address), [examples, delta, JSON.stringify(address)]);
  return { delta, places };
}

export function Facts(props: Props) {
  const { report, examples, values, address, a, b, measure } = props;
  const { delta, places } = useChosen(props);
  const noun = report.family === "question" ? "question" : report.family === "taxonomy" ? "fact" : "example";
  const helped = delta.filter((d) => changeOf(d) === "helped").length;
  const harmed = delta.filter((d) => changeOf(d) === "harmed").length;
  const filters = Object.entries(address).filter(([name, value]) => value && (name.startsWith(GROUP) || name === "find" || name === "change"));
  const line = (index: number, top: number) => {
    const i = places[index] ?? 0;
    return (
      <a class="item example" key={i} href={changed(address, { id: examples.ids[i] ?? "" })} style={{ top: `${top}px`, height: `${LINE}px` }}>
        <span class="mono soft wide">{examples.ids[i]}</span>
        <span>{examples.values[i]}</span>
        <span title={examples.lines[i]}>{examples.lines[i]}</span>
        <span class="mono wide" title={examples.golds[i]}>{examples.golds[i]}</span>
        <Outcome values={values} a={a} b={b} measure={measure} place={i} delta={delta[i] ?? null} />
      </a>
    );
  };
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">{noun[0]?.toUpperCase()}{noun.slice(1)}s</h2>
      {a === b ? null : (
        <p>
          {a} against {b} by {measure}: <span class="good">{plural(helped, noun)} helped</span>, <span class="bad">{plural(harmed, noun)} harmed</span>.
        </p>
      )}
      <div class="bar" role="search">
        {(["", "helped", "harmed", "same"] as const).map((change) => (
          <button type="button" key={change} aria-pressed={(address["change"] ?? "") === change} onClick={() => go({ change })}>
            {change === "" ? "all" : change}
          </button>
        ))}
        {Object.entries(examples.groups).map(([name, column]) => <GroupFilter key={name} name={name} column={column} value={address[GROUP + name] ?? ""} />)}
        <label>
          Order
          <select value={address["order"] ?? ""} onChange={(e) => go({ order: e.currentTarget.value })}>
            <option value="">largest change first</option>
            <option value="data">as in the data</option>
          </select>
        </label>
        <label>
          Find
          <input type="search" value={address["find"] ?? ""} onInput={(e) => go({ find: e.currentTarget.value }, true)} placeholder="words of a locus, value, concept or id" size={28} />
        </label>
        {filters.length ? <button type="button" onClick={() => go(Object.fromEntries(filters.map(([name]) => [name, ""])))}>Clear filters</button> : null}
      </div>
      <p class="soft small" role="status">{plural(places.length, noun)} of {examples.ids.length.toLocaleString("en-US")}</p>
      <LongList count={places.length} lineHeight={LINE} height={520} label={`${noun}s that pass the filters`} line={line} />
    </section>
  );
}

function GroupFilter({ name, column, value }: { readonly name: string; readonly column: readonly string[]; readonly value: string }) {
  const options = useMemo(() => {
    const counts = new Map<string, number>();
    for (const one of column) if (one) counts.set(one, (counts.get(one) ?? 0) + 1);
    return [...counts].sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1)).slice(0, 200);
  }, [column]);
  if (options.length < 2 && !value) return null;
  return (
    <label>
      {name}
      <select value={value} onChange={(e) => go({ [GROUP + name]: e.currentTarget.value })} style={{ maxWidth: "13rem" }}>
        <option value="">all</option>
        {options.map(([one, n]) => <option key={one} value={one}>{`${one} (${n.toLocaleString("en-US")})`}</option>)}
      </select>
    </label>
  );
}

function Outcome({ values, a, b, measure, place, delta }: { readonly values: Values; readonly a: string; readonly b: string; readonly measure: string; readonly place: number; readonly delta: number | null }) {
  const rank = (row: string) => {
    const r = values.ranks[row]?.[place];
    if (r === undefined || r === null) return share(values.values[row]?.[measure]?.[place]);
    return r ? `#${r}` : "—";
  };
  const change = changeOf(delta);
  const kind = change === "helped" ? "good" : change === "harmed" ? "bad" : "soft";
  return (
    <span class="num" title={`${b}: ${rank(b) || "not done"}; ${a}: ${rank(a) || "not done"}`}>
      {a === b ? rank(a) : `${rank(b)} → ${rank(a)}`} {change && change !== "same" ? <span class={kind}>{signed(delta)}</span> : null}
    </span>
  );
}
