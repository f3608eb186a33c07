// The box that searches the taxonomy as one types.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { pack } from "../shared/packs";
import { Search } from "./search";
import type { Taxonomy } from "./types";

const SHOWN = 12;

export interface Opened {
  readonly taxonomy: Taxonomy;
  readonly search: Search;
}

let opened: Promise<Opened> | null = null;

/** The taxonomy and its index, made once. */
export function openTaxonomy(): Promise<Opened> {
  opened ??= pack<Taxonomy>("taxonomy").then((taxonomy) => ({ taxonomy, search: new Search(taxonomy) }));
  return opened;
}

interface Props {
  readonly datatype: string;
  /** Words of the fact's place and of the concepts beside it: what goes with them comes first. */
  readonly near: string;
  readonly choose: (concept: string) => void;
  readonly leave: () => void;
}

export function SearchBox({ datatype, near, choose, leave }: Props) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [known, setKnown] = useState<Opened | null>(null);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    input.current?.focus();
    void openTaxonomy().then(setKnown);
  }, []);
  const found = useMemo(() => {
    if (!known || !text.trim()) return [];
    const all = known.search.find(text, 200, near);
    const same = all.filter(({ place }) => !datatype || known.taxonomy.datatypes[place] === datatype);
    return [...same, ...all.filter((one) => !same.includes(one))].slice(0, SHOWN);
  }, [known, text, datatype, near]);
  const pick = (i: number) => {
    const id = known?.taxonomy.ids[found[i]?.place ?? -1];
    if (id) choose(id);
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "Escape") leave();
    else if (e.key === "Enter") pick(at);
    else if (e.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (e.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else return;
    e.preventDefault();
  };
  return (
    <div class="search">
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-expanded={found.length > 0}
        aria-controls="found"
        aria-activedescendant={found.length ? `found-${at}` : undefined}
        aria-label="Search the taxonomy"
        placeholder={known ? "words of a label or definition" : "opening the taxonomy ..."}
        value={text}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={key}
      />
      <ul class="candidates" id="found" role="listbox" aria-label="Concepts found">
        {found.map(({ place }, i) => (
          <li key={place} id={`found-${i}`} role="option" aria-selected={i === at} class={i === at ? "at" : ""} onClick={() => pick(i)}>
            <span class="mono">{known?.taxonomy.ids[place]}</span> <span class="soft small">{known?.taxonomy.datatypes[place]}</span>
            <div class="small">{known?.taxonomy.labels[place]}</div>
            <div class="def small soft">{known?.taxonomy.texts[place]}</div>
          </li>
        ))}
      </ul>
    </div>
  );
}
