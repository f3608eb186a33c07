// Source contexts: a table with one cell lit, a passage with one mention lit.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { litCell, place, type Locus, type RawCell } from "./grid";

interface TableProps {
  readonly rows: readonly (readonly RawCell[])[];
  readonly fact: Locus;
  readonly above?: string | undefined;
}

export function SourceTable({ rows, fact, above }: TableProps) {
  const placed = useMemo(() => place(rows), [rows]);
  const lit = useMemo(() => litCell(placed, fact), [placed, fact]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const cell = box.current?.querySelector<HTMLElement>("td.lit");
    if (cell && box.current) box.current.scrollTop = cell.offsetTop - box.current.clientHeight / 2;
  }, [lit]);
  return (
    <>
      {above ? <p class="soft small">{above}</p> : null}
      <div class="scroll" ref={box} style={{ maxHeight: "26rem", overflowY: "auto", position: "relative" }} tabIndex={0} role="region" aria-label="Source table">
        <table class="source">
          <tbody>
            {placed.map((cells, i) => (
              <tr key={i}>
                {cells.map((cell, j) => (
                  <td
                    key={j}
                    colSpan={cell.colspan}
                    rowSpan={cell.rowspan}
                    class={cell === lit ? "lit" : undefined}
                    aria-current={cell === lit ? "location" : undefined}
                  >
                    {cell.text}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {lit ? null : <p class="small warn">The cell could not be told from others of the same value.</p>}
    </>
  );
}

interface TextProps {
  readonly text: string;
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

/** Offsets count characters as Python does, not UTF-16 units. */
export function SourceText({ text, start, end }: TextProps) {
  const parts = useMemo(() => cut(text, start, end), [text, start, end]);
  const mark = useRef<HTMLElement>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (mark.current && box.current) box.current.scrollTop = mark.current.offsetTop - box.current.clientHeight / 2;
  }, [parts]);
  return (
    <div class="passage" ref={box} style={{ maxHeight: "26rem", overflowY: "auto", position: "relative" }} tabIndex={0} role="region" aria-label="Source text">
      {parts[0]}
      {parts[1] ? <mark class="lit" ref={mark}>{parts[1]}</mark> : null}
      {parts[2]}
    </div>
  );
}

/** A text before, inside and after [start, end), which count code points. */
export function cut(text: string, start: number | undefined, end: number | undefined): [string, string, string] {
  if (start === undefined || end === undefined) return [text, "", ""];
  const points = Array.from(text);
  return [points.slice(0, start).join(""), points.slice(start, end).join(""), points.slice(end).join("")];
}
