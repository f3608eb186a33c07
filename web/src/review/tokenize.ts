// The tokenizer of abduce (signatures/tokenize.py): alphanumeric runs, then those of their camel-case split.

const FUNCTION_WORDS = new Set(
  "a an and are as at be been being but by for if in into is it its of on or that the their then there these this to was were which with".split(" "),
);
const RUN = /[\p{L}\p{N}]+/gu;
const CAMEL = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/;

function normal(word: string): string {
  const lower = word.toLowerCase();
  if (FUNCTION_WORDS.has(lower)) return "";
  if (lower.length > 4 && lower.endsWith("ies")) return `${lower.slice(0, -3)}y`;
  if (lower.length > 3 && lower.endsWith("s") && !lower.endsWith("ss")) return lower.slice(0, -1);
  return lower;
}

export function tok(text: string): string[] {
  const runs = text.match(RUN) ?? [];
  return [...runs.map(normal), ...runs.flatMap((run) => run.split(CAMEL).map(normal))].filter(Boolean);
}
