// Which examples one row helps and harms against another, and which pass the filters.
import type { Address } from "../shared/address";
import type { Examples, Values } from "./types";

export type Change = "helped" | "harmed" | "same";

/** Value of a minus value of b for each example; null where either is not known. */
export function deltas(values: Values, a: string, b: string, measure: string): (number | null)[] {
  const first = values.values[a]?.[measure] ?? [];
  const second = values.values[b]?.[measure] ?? [];
  return first.map((x, i) => {
    const y = second[i];
    return x === null || x === undefined || y === null || y === undefined ? null : x - y;
  });
}

export function changeOf(delta: number | null): Change | null {
  if (delta === null) return null;
  if (Math.abs(delta) < 1e-9) return "same";
  return delta > 0 ? "helped" : "harmed";
}

/** Prefix of the address's settings that filter by a group. */
export const GROUP = "by.";

/** Places of the examples that pass the filters: the largest change first, or (`order=data`) as in the data. */
export function chosen(examples: Examples, delta: readonly (number | null)[], address: Address): number[] {
  const groups = Object.entries(address)
    .filter(([name, value]) => name.startsWith(GROUP) && value)
    .map(([name, value]) => [examples.groups[name.slice(GROUP.length)] ?? [], value] as const);
  const words = (address["find"] ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = address["change"] ?? "";
  const places = examples.ids.map((_, i) => i).filter((i) => {
    if (wanted && changeOf(delta[i] ?? null) !== wanted) return false;
    if (!groups.every(([column, value]) => (column[i] ?? "") === value)) return false;
    if (!words.length) return true;
    const text = `${examples.ids[i]} ${examples.golds[i]} ${examples.values[i]} ${examples.lines[i]}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (address["order"] !== "data") {
    places.sort((i, j) => Math.abs(delta[j] ?? 0) - Math.abs(delta[i] ?? 0) || i - j);
  }
  return places;
}

/** The two rows that are compared: those of the address, else the first pair of the report. */
export function pairOf(address: Address, rows: readonly string[], compared: readonly { a: string; b: string }[], baseline: string | null): [string, string] {
  const known = (name: string | undefined) => (name !== undefined && rows.includes(name) ? name : undefined);
  const last = compared.at(-1);
  const b = known(address["b"]) ?? last?.b ?? baseline ?? rows[0] ?? "";
  const a = known(address["a"]) ?? last?.a ?? rows.find((name) => name !== b) ?? b;
  return [a, b];
}
