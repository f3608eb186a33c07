// BM25 with label coverage, as abduce.retrievers.bm25 has it, over a taxonomy in the page.
import { bytesOf } from "../shared/packs";
import { tok } from "./tokenize";
import type { Taxonomy } from "./types";

const K1 = 1.5;
const B = 0.75;
const W_COV = 1;
/** Words that the beginning of a word, still being typed, may stand for. */
const COMPLETIONS = 40;
/** What the words of the fact's place count beside those that are typed: a whole match of theirs, this much. */
const W_NEAR = 1;

export interface Found {
  readonly place: number;
  readonly score: number;
}

interface Lists {
  /** Where the documents of each word begin in `documents`. */
  readonly starts: Uint32Array;
  readonly documents: Uint32Array;
  readonly counts: Uint16Array;
}

function numbers(base64: string): Uint32Array {
  return new Uint32Array(bytesOf(base64).buffer);
}

/** Documents by word, from words by document. */
function inverted(tokens: Uint32Array, sizes: Uint32Array, words: number): Lists {
  const ends = new Uint32Array(words + 1);
  const lastSeen = new Int32Array(words).fill(-1);
  for (let d = 0, at = 0; d < sizes.length; d++) {
    for (const stop = at + (sizes[d] ?? 0); at < stop; at++) {
      const word = tokens[at] ?? 0;
      if (lastSeen[word] !== d) ends[word + 1] = (ends[word + 1] ?? 0) + 1;
      lastSeen[word] = d;
    }
  }
  for (let w = 0; w < words; w++) ends[w + 1] = (ends[w + 1] ?? 0) + (ends[w] ?? 0);
  const starts = ends.slice();
  const documents = new Uint32Array(ends[words] ?? 0);
  const counts = new Uint16Array(documents.length);
  const next = ends.slice(0, words);
  lastSeen.fill(-1);
  for (let d = 0, at = 0; d < sizes.length; d++) {
    for (const stop = at + (sizes[d] ?? 0); at < stop; at++) {
      const word = tokens[at] ?? 0;
      if (lastSeen[word] === d) {
        const place = (next[word] ?? 0) - 1;
        counts[place] = (counts[place] ?? 0) + 1;
      } else {
        const place = next[word] ?? 0;
        documents[place] = d;
        counts[place] = 1;
        next[word] = place + 1;
        lastSeen[word] = d;
      }
    }
  }
  return { starts, documents, counts };
}

export class Search {
  private readonly size: number;
  private readonly documents: Lists;
  private readonly labels: Lists;
  private readonly length: Float64Array;
  private readonly labelSizes: Uint32Array;
  private readonly places = new Map<string, number>();

  constructor(private readonly taxonomy: Taxonomy) {
    const sizes = numbers(taxonomy.sizes);
    this.size = sizes.length;
    this.documents = inverted(numbers(taxonomy.tokens), sizes, taxonomy.words.length);
    this.labelSizes = numbers(taxonomy.headSizes);
    this.labels = inverted(numbers(taxonomy.heads), this.labelSizes, taxonomy.words.length);
    let total = 0;
    for (const size of sizes) total += size;
    const mean = total / Math.max(this.size, 1);
    this.length = Float64Array.from(sizes, (size) => K1 * (1 - B + (B * size) / mean));
    taxonomy.words.forEach((word, i) => this.places.set(word, i));
  }

  /**
   * The best concepts for a text. With `near`, and until a word is ended by a space, the text is being typed: its
   * last word, and each that is none of the taxonomy, may be the beginning of one; what has the words of `near` as
   * well comes first.
   */
  find(text: string, top: number, near?: string): Found[] {
    const query = [...new Set(tok(text))];
    if (!query.length) return [];
    const typing = near !== undefined && /[\p{L}\p{N}]$/u.test(text);
    const last = tok(text).at(-1);
    const raw = new Float64Array(this.size);
    const shared = new Uint16Array(this.size);
    const touched = new Uint8Array(this.size);
    for (const word of query) {
      const words = typing && (word === last || !this.places.has(word)) ? this.completions(word) : this.known(word);
      this.add(words, raw, touched);
      this.cover(words, shared);
    }
    return this.best(raw, shared, touched, query.length, top, typing ? this.shareOf(near, touched) : null);
  }

  /** The BM25 of a text for the touched documents, as a share of the best of them. */
  private shareOf(text: string, touched: Uint8Array): Float64Array {
    const found = new Float64Array(this.size);
    for (const word of new Set(tok(text))) this.add(this.known(word), found, new Uint8Array(this.size));
    let most = 0;
    for (let d = 0; d < this.size; d++) if (touched[d] && (found[d] ?? 0) > most) most = found[d] ?? 0;
    return most ? found.map((value) => value / most) : found;
  }

  private known(word: string): number[] {
    const place = this.places.get(word);
    return place === undefined ? [] : [place];
  }

  /** The words that begin so, the commonest first. */
  private completions(beginning: string): number[] {
    const { words } = this.taxonomy;
    let low = 0;
    let high = words.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((words[middle] ?? "") < beginning) low = middle + 1;
      else high = middle;
    }
    const found: number[] = [];
    for (let i = low; i < words.length && words[i]?.startsWith(beginning); i++) found.push(i);
    const exact = this.places.get(beginning);
    found.sort((x, y) => Number(y === exact) - Number(x === exact) || this.frequency(y) - this.frequency(x));
    return found.slice(0, COMPLETIONS);
  }

  private frequency(word: number): number {
    return (this.documents.starts[word + 1] ?? 0) - (this.documents.starts[word] ?? 0);
  }

  /** Add to each document the best weight of these words (one word, or the completions of one). */
  private add(words: readonly number[], raw: Float64Array, touched: Uint8Array): void {
    const { starts, documents, counts } = this.documents;
    const several = words.length > 1 ? new Float64Array(this.size) : null;
    for (const word of words) {
      const frequency = this.frequency(word);
      const idf = Math.log(1 + (this.size - frequency + 0.5) / (frequency + 0.5));
      for (let i = starts[word] ?? 0; i < (starts[word + 1] ?? 0); i++) {
        const d = documents[i] ?? 0;
        const tf = counts[i] ?? 0;
        const weight = (idf * tf) / (tf + (this.length[d] ?? 0));
        touched[d] = 1;
        if (!several) raw[d] = (raw[d] ?? 0) + weight;
        else if (weight > (several[d] ?? 0)) several[d] = weight;
      }
    }
    if (several) for (let d = 0; d < this.size; d++) raw[d] = (raw[d] ?? 0) + (several[d] ?? 0);
  }

  private cover(words: readonly number[], shared: Uint16Array): void {
    const { starts, documents } = this.labels;
    const seen = words.length > 1 ? new Set<number>() : null;
    for (const word of words) {
      for (let i = starts[word] ?? 0; i < (starts[word + 1] ?? 0); i++) {
        const d = documents[i] ?? 0;
        if (seen?.has(d)) continue;
        seen?.add(d);
        shared[d] = (shared[d] ?? 0) + 1;
      }
    }
  }

  private best(raw: Float64Array, shared: Uint16Array, touched: Uint8Array, words: number, top: number, near: Float64Array | null): Found[] {
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (const value of raw) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const range = high - low;
    const found: (Found & { raw: number; label: number })[] = [];
    for (let d = 0; d < this.size; d++) {
      if (!touched[d]) continue;
      const label = (shared[d] ?? 0) / Math.max(this.labelSizes[d] ?? 0, 1);
      const norm = range > 0 ? ((raw[d] ?? 0) - low) / range : 1;
      found.push({ place: d, score: norm + W_COV * (label + (shared[d] ?? 0) / words) + W_NEAR * (near?.[d] ?? 0), raw: raw[d] ?? 0, label });
    }
    const { ids } = this.taxonomy;
    const order = (x: (typeof found)[number], y: (typeof found)[number]) =>
      y.score - x.score || y.label - x.label || y.raw - x.raw || ((ids[x.place] ?? "") < (ids[y.place] ?? "") ? -1 : 1);
    return found.length > 5000 ? largest(found, top, order) : found.sort(order).slice(0, top);
  }
}

/** The first `top` of a list in an order, without sorting all of it. */
function largest<T>(items: readonly T[], top: number, order: (x: T, y: T) => number): T[] {
  const kept: T[] = [];
  for (const item of items) {
    const last = kept[kept.length - 1];
    if (kept.length >= top && last !== undefined && order(item, last) >= 0) continue;
    let low = 0;
    let high = kept.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const at = kept[middle];
      if (at !== undefined && order(at, item) <= 0) low = middle + 1;
      else high = middle;
    }
    kept.splice(low, 0, item);
    if (kept.length > top) kept.pop();
  }
  return kept;
}
