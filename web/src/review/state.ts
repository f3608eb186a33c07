// The state of a review: decisions, what they suggest for facts alike, the order of work, undo.
import type { Decision, Facts, State } from "./types";

/** Where a suggestion comes from: the program, or what was decided of a fact closely or loosely alike. */
export type Source = "program" | "close" | "loose";

export interface Suggestion {
  readonly concept: string;
  readonly source: Source;
  /** In [0, 1]; null where nothing is known. */
  readonly sure: number | null;
  /** What is offered, the suggestion first. */
  readonly candidates: readonly string[];
  /** How many decisions of facts alike stand behind it. */
  readonly votes: number;
}

export const ORDERS = ["worth", "sure", "place", "disagreement"] as const;
export type Order = (typeof ORDERS)[number];

/** How sure a suggestion is that a person made for a fact alike in the same company. */
const CLOSE = 0.97;
const LOOSE = 0.8;
/** Below this the program is less sure than a person's word of a fact closely alike. */
const UNSURE = 0.5;
/** From here on only the same row of the same table outweighs the program. */
const CERTAIN = 0.9;
/** Concepts that were decided in the same table and are offered to its other facts. */
const BESIDE = 3;
/** Facts of the same source context whose concepts say what a fact is about. */
const NEIGHBOURS = 10;
const STANDS: ReadonlySet<State> = new Set(["accepted", "corrected"]);
const OWN_CLOSE = 0;
const OWN_LOOSE = 1;
const ANY_CLOSE = 2;
const ANY_LOOSE = 3;

type Change = readonly [fact: number, before: Decision | undefined];

export class Review {
  private readonly decisions = new Map<number, Decision>();
  private readonly groups = new Map<number, number[]>();
  private readonly suggestions = new Map<number, Suggestion>();
  private readonly told = new Map<number, string>();
  private readonly done: Change[][] = [];
  readonly count: number;

  constructor(
    readonly facts: Facts,
    private readonly ids: readonly string[],
    decisions: readonly Decision[],
    private readonly now: () => string = () => new Date().toISOString(),
  ) {
    this.count = facts.ids.length;
    facts.alike.forEach((keys, i) => {
      for (const key of new Set(keys)) {
        if (key < 0) continue;
        const group = this.groups.get(key);
        if (group) group.push(i);
        else this.groups.set(key, [i]);
      }
    });
    const places = new Map(facts.ids.map((id, i) => [id, i]));
    for (const decision of decisions) {
      const i = places.get(decision.fact_id);
      if (i === undefined) continue;
      if (decision.state === "suggested") this.told.set(i, decision.concept);
      else if (decision.state === "open" && !decision.note && !decision.flag) this.decisions.delete(i);
      else this.decisions.set(i, decision);
    }
  }

  decision(i: number): Decision | undefined {
    return this.decisions.get(i);
  }

  state(i: number): State {
    return this.decisions.get(i)?.state ?? "open";
  }

  decided(i: number): boolean {
    return this.state(i) !== "open";
  }

  /** The concept that the program put first; empty where it found none. */
  first(i: number): string {
    return this.ids[this.facts.candidates[i]?.[0] ?? -1] ?? "";
  }

  /** The concept that stands: a decided one, else the suggested one. */
  concept(i: number): string {
    const decision = this.decisions.get(i);
    if (decision && decision.state !== "open") return decision.concept;
    return this.suggestion(i).concept;
  }

  suggestion(i: number): Suggestion {
    let found = this.suggestions.get(i);
    if (!found) {
      found = this.suggest(i);
      this.suggestions.set(i, found);
    }
    return found;
  }

  private suggest(i: number): Suggestion {
    const own = (this.facts.candidates[i] ?? []).map((n) => this.ids[n] ?? "");
    const sure = this.facts.sure[i] ?? null;
    const close = this.vote(i, OWN_CLOSE, (other) => this.binds(other, i));
    const loose = this.vote(i, OWN_LOOSE, (other) => this.first(other) === this.first(i));
    const others = [...this.vote(i, OWN_CLOSE).keys(), ...this.vote(i, OWN_LOOSE).keys()];
    const strangers = [...this.vote(i, ANY_CLOSE).keys(), ...this.vote(i, ANY_LOOSE).keys()];
    const refused = this.refused(i);
    const kept = own.filter((id) => !refused.has(id));
    const rest = own.filter((id) => refused.has(id));
    const [best] = close.keys();
    if (best !== undefined) {
      return { concept: best, source: "close", sure: Math.max(sure ?? 0, CLOSE), candidates: unique([...close.keys(), ...others, ...kept, ...rest]), votes: close.get(best) ?? 0 };
    }
    const [likely] = loose.keys();
    if (likely !== undefined && loose.size === 1 && own.includes(likely)) {
      return { concept: likely, source: "loose", sure: Math.max(sure ?? 0, LOOSE), candidates: unique([likely, ...others, ...kept, ...rest]), votes: loose.get(likely) ?? 0 };
    }
    const candidates = unique([...kept.slice(0, 1), ...others, ...this.beside(i), ...strangers, ...kept.slice(1), ...rest]);
    const changed = kept[0] !== own[0];
    return { concept: candidates[0] ?? "", source: "program", sure: changed ? (sure === null ? null : sure / 2) : sure, candidates, votes: 0 };
  }

  /** Concepts that were decided of facts alike, with how often: the commonest first, of equals the latest. */
  private vote(i: number, level: number, counts: (other: number) => boolean = () => true): Map<string, number> {
    const votes = new Map<string, { count: number; at: string }>();
    for (const other of this.alike(i, level)) {
      if (!counts(other)) continue;
      const decision = this.decisions.get(other);
      if (!decision || !STANDS.has(decision.state)) continue;
      const vote = votes.get(decision.concept) ?? { count: 0, at: "" };
      votes.set(decision.concept, { count: vote.count + 1, at: vote.at > decision.at ? vote.at : decision.at });
    }
    const ranked = [...votes].sort((x, y) => y[1].count - x[1].count || (x[1].at > y[1].at ? -1 : 1));
    return new Map(ranked.map(([concept, { count }]) => [concept, count]));
  }

  /**
   * Whether what was decided of one fact decides for another that is closely alike: in the same table, where the
   * program said the same of both (it is wrong, or right, for the same reason), or where it is unsure. Else the
   * program saw something that tells them apart, and the decision is only offered.
   */
  private binds(other: number, i: number): boolean {
    const sure = this.facts.sure[i] ?? 0;
    const sameTable = this.facts.contexts[other] === this.facts.contexts[i];
    if (this.first(other) === this.first(i)) return sameTable || sure < CERTAIN;
    return sure < (sameTable ? CERTAIN : UNSURE);
  }

  /** The concepts that stand at the nearest facts of its source context, each once. */
  neighbours(i: number): string[] {
    const here = (this.tables().get(this.facts.contexts[i] ?? -1) ?? []).filter((other) => other !== i);
    here.sort((x, y) => Math.abs(x - i) - Math.abs(y - i));
    return unique(here.slice(0, NEIGHBOURS).map((other) => this.concept(other)));
  }

  /** The latest concepts that were decided of facts of its datatype in its table, where the program said the same first. */
  private beside(i: number): string[] {
    const near: Decision[] = [];
    const distant: Decision[] = [];
    for (const other of this.tables().get(this.facts.contexts[i] ?? -1) ?? []) {
      const decision = this.decisions.get(other);
      if (other === i || !decision || !STANDS.has(decision.state) || this.facts.datatypes[other] !== this.facts.datatypes[i]) continue;
      (this.first(other) === this.first(i) ? near : distant).push(decision);
    }
    const latest = (x: Decision, y: Decision) => (x.at > y.at ? -1 : 1);
    return unique([...near.sort(latest), ...distant.sort(latest)].map(({ concept }) => concept)).slice(0, BESIDE);
  }

  /** What was refused of facts closely alike: the program's first concept, where that was rejected or corrected. */
  private refused(i: number): Set<string> {
    const refused = new Set<string>();
    for (const other of this.alike(i, OWN_CLOSE)) {
      const state = this.state(other);
      if (state === "rejected" || state === "corrected") refused.add(this.first(other));
    }
    return refused;
  }

  /** The other facts that are alike at this level. */
  alike(i: number, level: number): number[] {
    const key = this.facts.alike[i]?.[level] ?? -1;
    return key < 0 ? [] : (this.groups.get(key) ?? []).filter((other) => other !== i);
  }

  /** Facts that may have the same tag for the same reason: closely alike in the same company. */
  twins(i: number): number[] {
    return this.alike(i, OWN_CLOSE);
  }

  accept(i: number): Decision[] {
    const { concept } = this.suggestion(i);
    return concept ? this.decide([[i, "accepted", concept]]) : [];
  }

  choose(i: number, concept: string): Decision[] {
    return this.decide([[i, concept === this.suggestion(i).concept ? "accepted" : "corrected", concept]]);
  }

  reject(i: number): Decision[] {
    return this.decide([[i, "rejected", ""]]);
  }

  /** Give the open twins of a decided fact its concept. */
  acceptTwins(i: number): Decision[] {
    const concept = this.concept(i);
    const open = this.twins(i).filter((other) => !this.decided(other));
    if (!concept) return [];
    const own: [number, State, string][] = this.decided(i) ? [] : [[i, "accepted", concept]];
    return this.decide([...own, ...open.map((other): [number, State, string] => [other, "accepted", concept])]);
  }

  /** Open facts whose program is at least this sure of what is suggested. */
  surely(least: number): number[] {
    return this.every().filter((i) => !this.decided(i) && (this.facts.sure[i] ?? 0) >= least && this.suggestion(i).concept === this.first(i));
  }

  acceptAll(facts: readonly number[]): Decision[] {
    return this.decide(facts.map((i) => [i, "accepted", this.suggestion(i).concept]));
  }

  annotate(i: number, change: { note?: string; flag?: boolean }): Decision[] {
    const old = this.decisions.get(i) ?? this.blank(i);
    return this.apply([[i, { ...old, ...change, at: this.now() }]]);
  }

  private blank(i: number): Decision {
    return { fact_id: this.facts.ids[i] ?? "", state: "open", concept: "", note: "", flag: false, at: "" };
  }

  private decide(changes: readonly (readonly [number, State, string])[]): Decision[] {
    const at = this.now();
    return this.apply(changes.map(([i, state, concept]) => [i, { ...(this.decisions.get(i) ?? this.blank(i)), state, concept, at }]));
  }

  /** Take changes over; what must be saved: they, and what they suggest elsewhere. */
  private apply(changes: readonly (readonly [number, Decision | undefined])[], undoing = false): Decision[] {
    if (!changes.length) return [];
    const before: Change[] = changes.map(([i]) => [i, this.decisions.get(i)]);
    for (const [i, decision] of changes) {
      if (decision) this.decisions.set(i, decision);
      else this.decisions.delete(i);
    }
    if (!undoing) this.done.push(before);
    const saved = changes.map(([i, decision]) => decision ?? { ...this.blank(i), at: this.now() });
    const near = new Set(changes.flatMap(([i]) => [OWN_CLOSE, OWN_LOOSE, ANY_CLOSE, ANY_LOOSE].flatMap((level) => this.alike(i, level))));
    const sameTable = changes.flatMap(([i]) => this.tables().get(this.facts.contexts[i] ?? -1) ?? []);
    for (const i of [...near, ...sameTable, ...changes.map(([i]) => i)]) this.suggestions.delete(i);
    for (const i of near) {
      if (this.decided(i)) continue;
      const { concept } = this.suggestion(i);
      if (concept === (this.told.get(i) ?? this.first(i))) continue;
      this.told.set(i, concept);
      const old = this.decisions.get(i) ?? this.blank(i);
      saved.push({ ...old, state: "suggested", concept, at: this.now() });
    }
    return saved;
  }

  /** Take back the last action; the facts that it changed, and what must be saved. */
  undo(): { facts: number[]; saved: Decision[] } {
    const last = this.done.pop();
    return last ? { facts: last.map(([i]) => i), saved: this.apply(last, true) } : { facts: [], saved: [] };
  }

  get undoable(): boolean {
    return this.done.length > 0;
  }

  every(): number[] {
    return Array.from({ length: this.count }, (_, i) => i);
  }

  counts(): Record<State, number> {
    const counts: Record<State, number> = { open: 0, suggested: 0, accepted: 0, corrected: 0, rejected: 0 };
    for (let i = 0; i < this.count; i++) counts[this.state(i)] += 1;
    return counts;
  }

  /** How many other tags of its row differ, and how many rows of its table have its concept too. */
  disagreement(i: number, concepts: readonly string[]): number {
    const context = this.facts.contexts[i];
    const row = this.facts.rows[i] ?? -1;
    if (row < 0) return 0;
    const mine = concepts[i];
    const key = this.facts.alike[i]?.[OWN_CLOSE];
    let score = 0;
    for (const other of this.tables().get(context ?? -1) ?? []) {
      if (other === i) continue;
      const sameRow = this.facts.rows[other] === row;
      if (sameRow && this.facts.alike[other]?.[OWN_CLOSE] === key && concepts[other] !== mine) score += 2;
      if (!sameRow && this.facts.alike[other]?.[OWN_CLOSE] !== key && concepts[other] === mine) score += 1;
    }
    return score;
  }

  private tablesOf: Map<number, number[]> | null = null;

  private tables(): Map<number, number[]> {
    if (!this.tablesOf) {
      this.tablesOf = new Map();
      this.facts.contexts.forEach((context, i) => {
        const group = this.tablesOf?.get(context);
        if (group) group.push(i);
        else this.tablesOf?.set(context, [i]);
      });
    }
    return this.tablesOf;
  }

  /** How far the first score is from the second, in [0, 1): what tells facts apart where there is no confidence. */
  private margin(i: number): number {
    const [first, second] = this.facts.scores[i] ?? [];
    if (first === undefined || first === null || first <= 0) return 0;
    return 0.9 * Math.min(1, (first - Math.max(second ?? 0, 0)) / first);
  }

  /** Facts in an order of work. "worth": what one look settles comes first. */
  ordered(places: readonly number[], order: Order): number[] {
    if (order === "place") return [...places];
    const sure = (i: number) => this.suggestion(i).sure ?? this.margin(i);
    const score = new Map<number, number>();
    if (order === "disagreement") {
      const concepts = this.every().map((i) => this.concept(i));
      for (const i of places) score.set(i, this.disagreement(i, concepts));
    } else if (order === "worth") {
      const seen = new Set<number>();
      for (const i of places) {
        const key = this.facts.alike[i]?.[OWN_CLOSE] ?? -1;
        const open = 1 + this.twins(i).filter((other) => !this.decided(other)).length;
        const repeats = key >= 0 && seen.has(key) && !this.decided(i);
        if (key >= 0 && !this.decided(i)) seen.add(key);
        score.set(i, (1 - sure(i)) * (repeats ? 0.01 : open));
      }
    } else {
      for (const i of places) score.set(i, 1 - sure(i));
    }
    return [...places].sort((x, y) => (score.get(y) ?? 0) - (score.get(x) ?? 0) || x - y);
  }
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)].filter(Boolean);
}
