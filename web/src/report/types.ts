// What eval/report/page.py writes.
import type { RawCell } from "../shared/grid";

export interface Row {
  readonly row: string;
  readonly n: number;
  readonly failed: number;
  readonly seeds: readonly number[];
  readonly done: number;
  readonly of: number;
  readonly intervals: Readonly<Record<string, readonly [number, number]>>;
  readonly marks: Readonly<Record<string, "+" | "-">>;
  readonly sd?: Readonly<Record<string, number | null>>;
  readonly cost?: Readonly<Record<string, number>>;
  readonly reference?: Readonly<Record<string, number>>;
  readonly seconds: number | null;
  readonly [measure: string]: unknown;
}

export type Estimate = readonly [mean: number, low: number, high: number, p: number];

export interface Compared {
  readonly a: string;
  readonly b: string;
  readonly measures: Readonly<Record<string, Estimate>>;
}

export interface Breakdown {
  readonly field: string;
  readonly measures: readonly string[];
  readonly groups: readonly (readonly [name: string, n: number])[];
  readonly rows: Readonly<Record<string, Readonly<Record<string, readonly (readonly [number | null, number | null, number | null])[]>>>>;
}

export interface Report {
  readonly title: string;
  readonly experiment: string;
  readonly data: string;
  readonly family: string;
  readonly baseline: string | null;
  readonly measures: readonly string[];
  readonly headline: string;
  readonly rows: readonly Row[];
  readonly compare: readonly Compared[];
  readonly ks: readonly number[];
  readonly curves: Readonly<Record<string, readonly number[]>>;
  readonly risk: Readonly<Record<string, readonly (readonly [number, number])[]>>;
  readonly breakdowns: readonly Breakdown[];
  readonly failures: readonly (readonly string[])[];
  readonly notes: readonly string[];
  readonly count: number;
  readonly chunk: number;
  readonly served: boolean;
}

export interface Examples {
  readonly ids: readonly string[];
  readonly golds: readonly string[];
  readonly values: readonly string[];
  readonly lines: readonly string[];
  readonly groups: Readonly<Record<string, readonly string[]>>;
}

export interface Values {
  readonly values: Readonly<Record<string, Readonly<Record<string, readonly (number | null)[]>>>>;
  readonly ranks: Readonly<Record<string, readonly (number | null)[]>>;
}

export interface Items {
  readonly ids: readonly string[];
  readonly labels: readonly string[];
  readonly texts: readonly string[];
  readonly datatypes: readonly string[];
}

export interface Context {
  readonly text?: string;
  readonly table?: readonly (readonly RawCell[])[];
  readonly above?: string;
}

export interface Fact {
  readonly value: string;
  readonly context: string;
  readonly modality: "table" | "text";
  readonly datatype?: string;
  readonly row_header?: string;
  readonly column_header?: string;
  readonly row_index?: number;
  readonly col_index?: number;
  readonly mention_start?: number;
  readonly mention_end?: number;
  readonly company?: string;
  readonly filing_id?: string;
}

export interface Question {
  readonly text: string;
  readonly options: Readonly<Record<string, string>>;
  readonly subject: string | null;
}

export type QueryMade = readonly [form: string, text: string, hypothesis: number, round: number, hits: readonly number[]];

/** One example under one row; see eval/report/details.py for the letters. */
export interface Detail {
  readonly e?: readonly [type: string, message: string];
  readonly q?: readonly QueryMade[];
  readonly f?: readonly [ids: readonly number[], scores: readonly (number | null)[]];
  readonly g?: number;
  readonly k?: Readonly<Record<string, readonly (number | null)[]>>;
  readonly h?: readonly (readonly [values: Record<string, string>, categories: Record<string, string[]>, query: string])[];
  readonly p?: readonly [size: number, ids: readonly number[], scores: readonly (number | null)[]];
  readonly v?: readonly (readonly [hypothesis: number, round: number, ids: readonly number[], letters: readonly string[] | null])[];
  readonly d?: readonly string[];
  readonly s?: readonly number[];
  readonly n?: readonly (readonly [concept: number, whose: string, locus: string])[];
  readonly x?: readonly (readonly [passage: number, sources: readonly (readonly [string, number])[], cited: number])[];
  readonly b?: readonly (readonly [option: string, stance: string, passage: number, sentence: string, by: string])[];
  readonly a?: readonly [key: string | null, text: string | null];
  readonly o?: Readonly<Record<string, string>>;
  readonly l?: unknown;
  readonly u?: readonly (readonly [name: string | null, label: string | null, selected: string | null, error: unknown])[];
  readonly w?: Readonly<Record<string, boolean>>;
  readonly t?: number;
  readonly m?: readonly (readonly [stage: string, ok: number, prompt: number, completion: number, seconds: number])[];
  readonly c?: Readonly<Record<string, number>>;
}

export interface Chunk {
  readonly contexts: Readonly<Record<string, Context>>;
  readonly facts: Readonly<Record<string, Fact>>;
  readonly questions: Readonly<Record<string, Question>>;
  readonly rows: Readonly<Record<string, Readonly<Record<string, Detail>>>>;
}
