// A long list of lines of one height, of which only those in sight exist.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  readonly count: number;
  readonly lineHeight: number;
  readonly height: number;
  readonly label: string;
  /** The line that must be in sight. */
  readonly current?: number;
  readonly line: (index: number, top: number) => ComponentChildren;
}

/** The first and the last line (exclusive) that are drawn. */
export function inSight(scroll: number, height: number, line: number, count: number): [number, number] {
  const spare = 8;
  const first = Math.max(0, Math.floor(scroll / line) - spare);
  return [first, Math.min(count, Math.ceil((scroll + height) / line) + spare)];
}

export function LongList({ count, lineHeight, height, label, current, line }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const before = () => setPrinting(true);
    const after = () => setPrinting(false);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, []);
  useLayoutEffect(() => {
    const at = box.current;
    if (!at || current === undefined || current < 0) return;
    const top = current * lineHeight;
    if (top < at.scrollTop || top + lineHeight > at.scrollTop + height) at.scrollTop = top - height / 2;
  }, [current, count]);
  const [first, last] = printing ? [0, Math.min(count, 200)] : inSight(scroll, height, lineHeight, count);
  const lines = [];
  for (let i = first; i < last; i++) lines.push(line(i, i * lineHeight));
  return (
    <div
      class="rows"
      ref={box}
      style={{ height: `${Math.min(height, Math.max(count, 1) * lineHeight + 2)}px` }}
      tabIndex={0}
      role="region"
      aria-label={label}
      onScroll={(e) => setScroll(e.currentTarget.scrollTop)}
    >
      <div class="rows-inner" style={{ height: `${(printing ? last : count) * lineHeight}px` }}>{lines}</div>
    </div>
  );
}
