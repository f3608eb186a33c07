// Numbers as the tables of abduce print them.

/** .123, 1.000, -.050: a value in [-1, 1] without its leading zero. */
export function share(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  return value.toFixed(digits).replace(/^(-?)0\./, "$1.");
}

/** +.012, -.003: a difference, with its sign. */
export function signed(value: number | null | undefined, digits = 3): string {
  const text = share(value, digits);
  return text && (value ?? 0) >= 0 ? `+${text}` : text;
}

/** 3,000; 12.5: a count or an amount. */
export function amount(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 100 ? 1 : 0 });
}

/** < .001, .042: a p-value. */
export function pValue(p: number | null | undefined): string {
  if (p === null || p === undefined || Number.isNaN(p)) return "";
  return p < 0.001 ? "< .001" : share(p);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
