// The review of a document: the document on the left, one fact on the right, the keyboard throughout.
import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, useAddress, type Address } from "../shared/address";
import { plural, share } from "../shared/format";
import { embedded, pack } from "../shared/packs";
import { LongList } from "../shared/virtual";
import type { Items } from "../report/types";
import { DocumentView } from "./document";
import { offers, Panel, type Actions } from "./panel";
import { openTaxonomy, type Opened as OpenedTaxonomy } from "./search_box";
import { ORDERS, Review, type Order } from "./state";
import { download, journal, merged, storeOf } from "./store";
import type { Decision, Facts, Node, Sheet } from "./types";

const PRECISION = 0.95;
const LINE = 28;
const SHOWS = ["open", "all", "accepted", "corrected", "rejected", "flagged", "noted"] as const;

interface Opened {
  readonly sheet: Sheet;
  readonly review: Review;
  readonly items: Items;
  readonly blocks: readonly Node[];
}

async function open(sheet: Sheet, earlier: readonly Decision[]): Promise<Opened> {
  const [facts, items, blocks] = await Promise.all([pack<Facts>("facts"), pack<Items>("items"), pack<readonly Node[]>("document")]);
  return { sheet, items, blocks, review: new Review(facts, items.ids, merged(sheet.decisions, earlier)) };
}

function App() {
  const [opened, setOpened] = useState<Opened | null>(null);
  const [problem, setProblem] = useState("");
  const store = useMemo(() => storeOf(embedded<Sheet>("data")), []);
  useEffect(() => {
    open(embedded<Sheet>("data"), store.earlier).then(setOpened, (error: unknown) => setProblem(String(error)));
  }, []);
  if (problem) return <p class="wait bad" role="alert">The page cannot be read: {problem}</p>;
  return opened ? <Page {...opened} store={store} /> : <p class="wait">Opening ...</p>;
}

/** Facts that pass the filters of the address, in the order of the document. */
export function passing(review: Review, address: Address): number[] {
  const show = address["show"] ?? "open";
  const words = (address["find"] ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const below = Number(address["below"] ?? "");
  return review.every().filter((i) => {
    const decision = review.decision(i);
    if (show === "open" && review.decided(i)) return false;
    if (show === "flagged" && !decision?.flag) return false;
    if (show === "noted" && !decision?.note) return false;
    if ((show === "accepted" || show === "corrected" || show === "rejected") && review.state(i) !== show) return false;
    if (address["below"] && !((review.suggestion(i).sure ?? 0) < below)) return false;
    if (!words.length) return true;
    const text = `${review.facts.ids[i]} ${review.facts.values[i]} ${review.facts.loci[i]} ${review.concept(i)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function markOf(review: Review, i: number): string {
  const decision = review.decision(i);
  const suggestion = review.suggestion(i);
  const sure = suggestion.sure;
  const sureness = !suggestion.concept ? "none" : sure === null ? "unsure" : sure >= 0.8 ? "sure" : sure >= 0.4 ? "unsure" : "poor";
  return `${sureness} ${review.decided(i) ? review.state(i) : ""} ${decision?.flag ? "flagged" : ""}`;
}

function Page({ sheet, review, items, blocks, store }: Opened & { readonly store: ReturnType<typeof storeOf> }) {
  const address = useAddress();
  const [tick, setTick] = useState(0);
  const [status, setStatus] = useState("");
  const [searching, setSearching] = useState(false);
  const [noting, setNoting] = useState(false);
  const [known, setKnown] = useState<OpenedTaxonomy | null>(null);
  const passed = useRef<Set<number>>(new Set());
  const walked = useRef<number[]>([]);
  const saves = useRef(0);
  const view = useRef<DocumentView | null>(null);
  const order = (ORDERS as readonly string[]).includes(address["order"] ?? "") ? (address["order"] as Order) : "worth";
  const places = useMemo(() => review.ordered(passing(review, address), order), [tick, JSON.stringify({ ...address, fact: "" }), order]);
  const asked = review.facts.ids.indexOf(address["fact"] ?? "");
  const current = asked >= 0 ? asked : (places.find((i) => !passed.current.has(i)) ?? places[0] ?? 0);
  const [turn, setTurn] = useState(0);
  const lexical = useMemo(() => {
    if (!turn || !known) return [];
    const datatype = review.facts.datatypes[current];
    const hits = known.search.find(review.facts.loci[current] ?? "", 400);
    return hits.filter(({ place }) => !datatype || known.taxonomy.datatypes[place] === datatype).map(({ place }) => known.taxonomy.ids[place] ?? "");
  }, [turn > 0, known, current]);
  const offered = offers(review.suggestion(current).candidates, lexical, turn);
  const shown = useRef(current);
  shown.current = current;

  // Effects of layout run before the next key; the others wait for a frame.
  useLayoutEffect(() => {
    const root = document.getElementById("document");
    if (root) view.current = new DocumentView(root, blocks, (i) => markOf(review, i), (i) => go({ fact: review.facts.ids[i] ?? "" }));
    const idle = setTimeout(() => void openTaxonomy().then(setKnown), 400);
    return () => clearTimeout(idle);
  }, []);
  useLayoutEffect(() => {
    setTurn(0);
    view.current?.show(current);
    if (asked < 0 && review.count) go({ fact: review.facts.ids[current] ?? "" }, true);
  }, [current]);

  const labelOf = useMemo(() => {
    const all = new Map(items.ids.map((id, i) => [id, { label: items.labels[i] ?? "", text: items.texts[i] ?? "" }]));
    known?.taxonomy.ids.forEach((id, i) => all.has(id) || all.set(id, { label: known.taxonomy.labels[i] ?? "", text: known.taxonomy.texts[i] ?? "" }));
    return (concept: string) => all.get(concept) ?? { label: "", text: "" };
  }, [known]);

  const keep = (decisions: readonly Decision[], said: string) => {
    if (!decisions.length) return;
    const numbers = new Map(review.facts.ids.map((id, i) => [id, i]));
    view.current?.repaint(decisions.map((d) => numbers.get(d.fact_id) ?? 0));
    setTick((t) => t + 1);
    setStatus(`${said} ...`);
    const save = (saves.current += 1);
    store.save(decisions).then(
      () => save === saves.current && setStatus(`${said}: ${store.label}`),
      (error: unknown) => setStatus(`NOT SAVED: ${String(error)}`),
    );
  };
  const move = (leaveOpen: boolean) => {
    const here = shown.current;
    walked.current.push(here);
    if (leaveOpen) passed.current.add(here);
    const left = review.ordered(passing(review, address), order).filter((i) => i !== here);
    const after = order === "place" ? left.find((i) => i > here) : left.find((i) => !passed.current.has(i));
    if (after === undefined) passed.current.clear();
    const to = after ?? left[0];
    if (to !== undefined) go({ fact: review.facts.ids[to] ?? "" });
  };
  const decided = (decisions: readonly Decision[], said: string) => {
    setSearching(false);
    if (!decisions.length) return;
    keep(decisions, said);
    move(false);
  };
  const act: Actions = {
    accept: () => decided(review.accept(shown.current), "accepted"),
    choose: (concept) => decided(review.choose(shown.current, concept), "chosen"),
    reject: () => decided(review.reject(shown.current), "rejected"),
    next: () => move(true),
    back: () => {
      const to = walked.current.pop();
      if (to !== undefined) go({ fact: review.facts.ids[to] ?? "" });
    },
    undo: () => {
      const { facts, saved } = review.undo();
      keep(saved, "undone");
      if (facts[0] !== undefined) go({ fact: review.facts.ids[facts[0]] ?? "" });
    },
    twins: () => {
      const before = review.twins(shown.current).filter((i) => !review.decided(i)).length;
      decided(review.acceptTwins(shown.current), `the same for ${before} alike`);
    },
    flag: () => keep(review.annotate(shown.current, { flag: !(review.decision(shown.current)?.flag ?? false) }), "flagged"),
    note: (text) => {
      if (!noting) return setNoting(true);
      setNoting(false);
      if (text !== null) keep(review.annotate(shown.current, { note: text }), "noted");
    },
    more: () => {
      void openTaxonomy().then(setKnown);
      setTurn((t) => (offers(review.suggestion(shown.current).candidates, lexical, t + 1).length || !t ? t + 1 : 0));
    },
    search: setSearching,
  };
  const threshold = sheet.thresholds.find(([precision]) => precision === PRECISION)?.[1];
  const sure = useMemo(() => (threshold === undefined ? [] : review.surely(threshold)), [tick, threshold]);
  const acceptSure = () => {
    if (sure.length) keep(review.acceptAll(sure), `${sure.length} accepted`);
  };
  const keys = useRef<(e: KeyboardEvent) => void>(() => undefined);
  keys.current = (e) => {
    const inField = e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement || e.target instanceof HTMLTextAreaElement;
    if (inField || e.ctrlKey || e.metaKey || e.altKey) return;
    const digit = /^[1-9]$/.test(e.key) ? Number(e.key) : 0;
    const commands: Record<string, () => void> = {
      a: act.accept, Enter: act.accept, r: act.reject, n: act.next, p: act.back, u: act.undo, s: act.twins, f: act.flag,
      m: () => setNoting(true), "0": act.more, "/": () => setSearching(true), b: acceptSure, Escape: () => setSearching(false),
    };
    const inButton = e.target instanceof HTMLButtonElement || e.target instanceof HTMLAnchorElement;
    if (inButton && e.key === "Enter") return;
    const concept = digit ? offered[digit - 1] : undefined;
    if (concept) act.choose(concept);
    else if (commands[e.key]) commands[e.key]?.();
    else return;
    e.preventDefault();
  };
  useLayoutEffect(() => {
    const listen = (e: KeyboardEvent) => keys.current(e);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);

  const counts = review.counts();
  const finished = review.count - counts.open - counts.suggested;
  const all = () => review.every().flatMap((i) => review.decision(i) ?? []);
  return (
    <div class="review">
      <header class="top">
        <div class="bar">
          <h1>{sheet.name}</h1>
          <span class="soft small">{sheet.taxonomy}, {sheet.program}</span>
          <span>
            {finished.toLocaleString("en-US")} of {plural(review.count, "fact")} decided <span class="good">{counts.accepted} accepted</span>, {counts.corrected} corrected, <span class="bad">{counts.rejected} rejected</span>
          </span>
          <button type="button" onClick={acceptSure} disabled={!sure.length} title={threshold === undefined ? "No calibration holds for these tags" : `Confidence of at least ${share(threshold, 2)}, which reached this precision on ${sheet.calibrated}`}>
            Accept all at 95% precision ({sure.length}) <kbd>b</kbd>
          </button>
          {sheet.served ? null : <button type="button" onClick={() => download(`${sheet.name}.review.jsonl`, journal(all()), "application/x-ndjson")}>Write decisions to a file</button>}
          <span class="status small" role="status">{status}</span>
        </div>
        {sheet.notes.length ? <details class="small"><summary>{plural(sheet.notes.length, "note")}</summary>{sheet.notes.map((note) => <p key={note}>{note}</p>)}</details> : null}
      </header>
      <main class="doc" id="document" tabIndex={0} aria-label="Document" />
      <aside class="panel" aria-label="Review">
        <div class="bar">
          <label>
            Show
            <select value={address["show"] ?? "open"} onChange={(e) => go({ show: e.currentTarget.value, fact: "" })}>
              {SHOWS.map((one) => <option key={one}>{one}</option>)}
            </select>
          </label>
          <label>
            Order
            <select value={order} onChange={(e) => go({ order: e.currentTarget.value, fact: "" })}>
              <option value="worth">most settled by one look</option>
              <option value="sure">least sure</option>
              <option value="place">place</option>
              <option value="disagreement">disagreement in row or table</option>
            </select>
          </label>
          <label>
            Find
            <input type="search" size={14} value={address["find"] ?? ""} onInput={(e) => go({ find: e.currentTarget.value }, true)} />
          </label>
        </div>
        {review.count ? <Panel key={current} sheet={sheet} review={review} items={items} fact={current} label={labelOf} offered={offered} turn={turn} searching={searching} noting={noting} act={act} /> : null}
        <h2>{plural(places.length, "fact")} to look at</h2>
        <LongList
          count={places.length}
          lineHeight={LINE}
          height={260}
          label="Facts to look at"
          current={places.indexOf(current)}
          line={(index, top) => {
            const i = places[index] ?? 0;
            return (
              <a class="item fact small" key={i} href={`#${new URLSearchParams({ ...address, fact: review.facts.ids[i] ?? "" })}`} aria-current={i === current} style={{ top: `${top}px`, height: `${LINE}px` }}>
                <span>{review.facts.values[i]}</span>
                <span title={review.facts.loci[i]}>{review.facts.loci[i]}</span>
                <span class="num soft">{share(review.suggestion(i).sure, 2)}</span>
              </a>
            );
          }}
        />
      </aside>
    </div>
  );
}

const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
