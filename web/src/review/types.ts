// What tagging/review/sheet.py writes, and decisions as the journal keeps them.

export type State = "open" | "suggested" | "accepted" | "corrected" | "rejected";

export interface Decision {
  readonly fact_id: string;
  readonly state: State;
  readonly concept: string;
  readonly note: string;
  readonly flag: boolean;
  readonly at: string;
}

export interface Sheet {
  readonly title: string;
  readonly name: string;
  readonly taxonomy: string;
  readonly program: string;
  readonly count: number;
  readonly chunk: number;
  readonly thresholds: readonly (readonly [precision: number, least: number])[];
  readonly calibrated: string;
  readonly key: string;
  readonly notes: readonly string[];
  readonly missing: number;
  readonly decisions: readonly Decision[];
  readonly served: boolean;
  readonly session?: number;
}

export interface Facts {
  readonly ids: readonly string[];
  readonly values: readonly string[];
  readonly loci: readonly string[];
  readonly datatypes: readonly string[];
  readonly rows: readonly number[];
  readonly candidates: readonly (readonly number[])[];
  readonly scores: readonly (readonly (number | null)[])[];
  readonly sure: readonly (number | null)[];
  readonly evidence: readonly string[];
  readonly errors: readonly string[];
  /** Close and loose likeness in the fact's company, then the same among all; -1: like none. */
  readonly alike: readonly (readonly number[])[];
  readonly contexts: readonly number[];
}

export interface Taxonomy {
  readonly ids: readonly string[];
  readonly labels: readonly string[];
  readonly texts: readonly string[];
  readonly datatypes: readonly string[];
  readonly words: readonly string[];
  readonly tokens: string;
  readonly sizes: string;
  readonly heads: string;
  readonly headSizes: string;
}

export type Node = string | readonly [tag: string, attributes: { readonly f?: readonly number[]; readonly n?: number; readonly c?: number; readonly r?: number; readonly a?: string }, children: readonly Node[]];
