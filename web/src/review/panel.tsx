// One fact on the right: suggestion, runner-ups, why, and what can be done.
import { useEffect, useState } from "preact/hooks";
import { share } from "../shared/format";
import { pack } from "../shared/packs";
import { FactTrail } from "../report/fact";
import type { Detail, Items } from "../report/types";
import { SearchBox } from "./search_box";
import type { Review } from "./state";
import type { Sheet } from "./types";

export const OFFERED = 9;

/** What is offered under the digits: first the candidates, then, nine by nine, what the words of the locus find. */
export function offers(candidates: readonly string[], found: readonly string[], turn: number): readonly string[] {
  const first = candidates.slice(0, OFFERED);
  if (turn === 0) return first;
  const rest = [...new Set([...found, ...candidates.slice(OFFERED)])].filter((id) => !first.includes(id));
  return rest.slice((turn - 1) * OFFERED, turn * OFFERED);
}

interface Props {
  readonly sheet: Sheet;
  readonly review: Review;
  readonly items: Items;
  readonly fact: number;
  readonly label: (concept: string) => { readonly label: string; readonly text: string };
  readonly offered: readonly string[];
  readonly turn: number;
  readonly searching: boolean;
  readonly noting: boolean;
  readonly act: Actions;
}

export interface Actions {
  accept(): void;
  choose(concept: string): void;
  reject(): void;
  next(): void;
  back(): void;
  more(): void;
  undo(): void;
  twins(): void;
  flag(): void;
  note(text: string | null): void;
  search(open: boolean): void;
}

const SAID = { open: "open", suggested: "open", accepted: "accepted", corrected: "corrected", rejected: "rejected" } as const;

export function Panel({ sheet, review, items, fact, label, offered, turn, searching, noting, act }: Props) {
  const { facts } = review;
  const suggestion = review.suggestion(fact);
  const decision = review.decision(fact);
  const state = review.state(fact);
  const open = review.twins(fact).filter((i) => !review.decided(i)).length;
  const chosen = state === "accepted" || state === "corrected" ? decision?.concept : undefined;
  return (
    <section aria-label="Fact">
      <h2>
        {facts.values[fact]} <span class="soft small">{facts.datatypes[fact]}</span>
      </h2>
      <p>{facts.loci[fact]}</p>
      <p>
        <span class={`chip ${state === "rejected" ? "bad" : state === "open" ? "" : "good"}`}>{SAID[state]}</span>{" "}
        {decision?.flag ? <span class="chip bad">⚑ flagged</span> : null} <span class="mono soft small">{facts.ids[fact]}</span>
      </p>
      {facts.errors[fact] ? <p class="box bad-box">{facts.errors[fact]}</p> : null}
      <div class="bar">
        <button type="button" onClick={act.accept} disabled={!suggestion.concept}>Accept <kbd>a</kbd></button>
        <button type="button" onClick={act.reject}>Reject <kbd>r</kbd></button>
        <button type="button" onClick={act.next}>Next <kbd>n</kbd></button>
        <button type="button" onClick={act.back}>Back <kbd>p</kbd></button>
        <button type="button" onClick={act.more}>More <kbd>0</kbd></button>
        <button type="button" onClick={() => act.search(!searching)}>Search <kbd>/</kbd></button>
        <button type="button" onClick={act.undo} disabled={!review.undoable}>Undo <kbd>u</kbd></button>
        <button type="button" onClick={act.flag} aria-pressed={decision?.flag ?? false}>Flag <kbd>f</kbd></button>
        <button type="button" onClick={() => act.note(decision?.note ?? "")}>Note <kbd>m</kbd></button>
        <button type="button" onClick={act.twins} disabled={!open}>Same for {open} alike <kbd>s</kbd></button>
      </div>
      {noting ? <Note text={decision?.note ?? ""} save={act.note} /> : decision?.note ? <p class="box warn-box">{decision.note}</p> : null}
      {searching ? (
        <SearchBox datatype={facts.datatypes[fact] ?? ""} near={[facts.loci[fact], ...review.neighbours(fact).map((id) => label(id).label)].join(" ")} choose={act.choose} leave={() => act.search(false)} />
      ) : (
        <ol class="candidates" aria-label="Candidates">
          {offered.map((concept, i) => {
            const told = label(concept);
            return (
              <li key={concept}>
                <button type="button" aria-current={concept === (chosen ?? suggestion.concept)} onClick={() => act.choose(concept)}>
                  <kbd>{i + 1}</kbd>
                  <span>
                    <span class="mono">{concept}</span> {concept === chosen ? <span class="good">✓</span> : null}{" "}
                    {concept === suggestion.concept && suggestion.source !== "program" ? <span class="chip">you said so of {suggestion.votes} {suggestion.source === "close" ? "like it" : "rather like it"}</span> : null}
                    {concept === suggestion.concept && suggestion.sure !== null ? <span class="soft"> {share(suggestion.sure, 2)}</span> : null}
                  </span>
                  <span class="def">{told.label}{told.text ? `: ${told.text.slice(0, 170)}` : ""}</span>
                </button>
              </li>
            );
          })}
          {offered.length ? null : <li class="soft">Nothing {turn ? "more" : "is suggested"}: search the taxonomy.</li>}
        </ol>
      )}
      <Why sheet={sheet} fact={fact} items={items} evidence={facts.evidence[fact] ?? ""} golds={[suggestion.concept]} />
    </section>
  );
}

function Note({ text, save }: { readonly text: string; readonly save: (text: string | null) => void }) {
  const [value, setValue] = useState(text);
  return (
    <div>
      <label>
        Note
        <input
          value={value}
          maxLength={2000}
          ref={(input) => input?.focus()}
          onInput={(e) => setValue(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === "Enter") {
              e.preventDefault();
              save(value);
            }
            if (e.key === "Escape") save(null);
          }}
        />
      </label>
    </div>
  );
}

function Why({ sheet, fact, items, evidence, golds }: { readonly sheet: Sheet; readonly fact: number; readonly items: Items; readonly evidence: string; readonly golds: readonly string[] }) {
  const [detail, setDetail] = useState<Detail | null>(null);
  useEffect(() => {
    let current = true;
    setDetail(null);
    void pack<readonly Detail[]>(`why-${Math.floor(fact / sheet.chunk)}`).then((chunk) => current && setDetail(chunk[fact % sheet.chunk] ?? null));
    return () => {
      current = false;
    };
  }, [fact]);
  return (
    <details open>
      <summary>Why</summary>
      {evidence ? <p class="small">{evidence}</p> : null}
      {detail ? <FactTrail detail={detail} items={items} golds={golds} short /> : null}
    </details>
  );
}
