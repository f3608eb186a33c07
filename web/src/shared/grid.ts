// A source table: rows of cells with spans, and where each cell stands.

/** text, columns, rows, header? (all but the text may be left out) */
export type RawCell = readonly [text: string, colspan?: number, rowspan?: number];

export interface Placed {
  readonly text: string;
  readonly row: number;
  readonly col: number;
  readonly colspan: number;
  readonly rowspan: number;
}

/** Cells with their places: a cell of an earlier row that spans down takes its columns. */
export function place(rows: readonly (readonly RawCell[])[]): Placed[][] {
  const taken: number[] = [];
  return rows.map((cells, row) => {
    let col = 0;
    return cells.map(([text, colspan = 1, rowspan = 1]) => {
      while ((taken[col] ?? 0) > row) col++;
      const placed = { text, row, col, colspan, rowspan };
      for (let c = col; c < col + colspan; c++) taken[c] = row + rowspan;
      col += colspan;
      return placed;
    });
  });
}

/** The cell that covers a row and a column. */
export function cellAt(rows: readonly (readonly Placed[])[], row: number, col: number): Placed | undefined {
  for (const line of rows) {
    for (const cell of line) {
      const inside = row >= cell.row && row < cell.row + cell.rowspan;
      if (inside && col >= cell.col && col < cell.col + cell.colspan) return cell;
    }
  }
  return undefined;
}

/** Where a fact stands, as far as it is known. */
export interface Locus {
  readonly value: string;
  readonly row_index?: number;
  readonly col_index?: number;
  readonly row_header?: string;
  readonly column_header?: string;
}

/** The cell of a fact: the one at its place; else, of those with its value, the only one under its headers. */
export function litCell(rows: readonly (readonly Placed[])[], fact: Locus): Placed | undefined {
  const wanted = squeeze(fact.value);
  if (fact.row_index !== undefined && fact.col_index !== undefined) {
    const there = cellAt(rows, fact.row_index, fact.col_index);
    if (there && squeeze(there.text).includes(wanted)) return there;
  }
  let found = rows.flat().filter((cell) => squeeze(cell.text).includes(wanted));
  const narrow = (keep: (cell: Placed) => boolean) => {
    const kept = found.filter(keep);
    if (kept.length) found = kept;
  };
  narrow((cell) => squeeze(cell.text) === wanted);
  narrow((cell) => cell.row === fact.row_index);
  const header = squeeze(lastPart(fact.row_header));
  if (header) narrow((cell) => rows[cell.row]?.some((one) => one !== cell && squeeze(one.text) === header) ?? false);
  const above = squeeze(lastPart(fact.column_header));
  if (above) {
    const heads = rows.flat().filter((cell) => squeeze(cell.text) === above);
    narrow((cell) => heads.some((head) => head.row < cell.row && head.col < cell.col + cell.colspan && cell.col < head.col + head.colspan));
  }
  return found.length === 1 ? found[0] : undefined;
}

function lastPart(header: string | undefined): string {
  return (header ?? "").split(" | ").at(-1) ?? "";
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, "");
}
