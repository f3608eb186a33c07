// The document on the left: nodes of documents/view.py as elements, and the marks of its facts.
import type { Node } from "./types";

const TAGS = new Set("p div h1 h2 h3 h4 h5 h6 ul ol li b i u sup sub br hr blockquote pre table tr td span".split(" "));
/** Blocks that are laid out together. */
const SECTION = 6;

export class DocumentView {
  private readonly places = new Map<number, HTMLElement[]>();
  private readonly facts = new Map<HTMLElement, readonly number[]>();
  private current: number | null = null;

  constructor(private readonly root: HTMLElement, blocks: readonly Node[], private readonly mark: (fact: number) => string, select: (fact: number) => void) {
    const all = document.createDocumentFragment();
    for (let i = 0; i < blocks.length; i += SECTION) {
      const section = document.createElement("section");
      for (const block of blocks.slice(i, i + SECTION)) this.add(section, block);
      all.append(section);
    }
    root.replaceChildren(all);
    root.addEventListener("click", (event) => {
      const element = (event.target as Element).closest<HTMLElement>(".f");
      const facts = element ? this.facts.get(element) : undefined;
      if (!facts) return;
      const at = this.current === null ? -1 : facts.indexOf(this.current);
      select(facts[(at + 1) % facts.length] ?? facts[0] ?? 0);
    });
  }

  private add(parent: Element, node: Node): void {
    if (typeof node === "string") {
      parent.append(node);
      return;
    }
    const [tag, attributes, children] = node;
    // A heading of the document is none of the page.
    const element = document.createElement(!TAGS.has(tag) ? "span" : /^h\d$/.test(tag) ? "p" : tag);
    if (/^h\d$/.test(tag)) element.className = "heading";
    if (tag === "table") element.className = "source";
    if (element instanceof HTMLTableCellElement) {
      if (attributes.c) element.colSpan = attributes.c;
      if (attributes.r) element.rowSpan = attributes.r;
    }
    if (attributes.a) element.classList.add(attributes.a === "r" ? "right" : "centre");
    if (attributes.n) element.classList.add("number");
    if (attributes.f) {
      this.facts.set(element, attributes.f);
      for (const fact of attributes.f) {
        const known = this.places.get(fact);
        if (known) known.push(element);
        else this.places.set(fact, [element]);
      }
      this.paint(element);
    }
    const inside = tag === "table" ? element.appendChild(document.createElement("tbody")) : element;
    for (const child of children) this.add(inside, child);
    parent.append(element);
  }

  private paint(element: HTMLElement): void {
    const facts = this.facts.get(element) ?? [];
    const kept = [...element.classList].filter((name) => name === "right" || name === "centre");
    const here = this.current !== null && facts.includes(this.current) ? "current" : "";
    element.className = ["f", ...kept, this.mark(facts[0] ?? 0), here].filter(Boolean).join(" ");
  }

  /** Draw the marks of these facts again. */
  repaint(facts: Iterable<number>): void {
    for (const fact of facts) for (const element of this.places.get(fact) ?? []) this.paint(element);
  }

  /** Bring a fact into sight. */
  show(fact: number): void {
    const before = this.current;
    this.current = fact;
    this.repaint(before === null ? [fact] : [before, fact]);
    const element = this.places.get(fact)?.[0];
    if (!element) return;
    const box = this.root.getBoundingClientRect();
    const place = element.getBoundingClientRect();
    if (place.height === 0 || place.top < box.top + 40 || place.bottom > box.bottom - 40) element.scrollIntoView({ block: "center" });
  }
}
