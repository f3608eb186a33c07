// A plot in its figure: drawn by Observable Plot, told in words beside it, and drawn again where the width changes.
import { useEffect, useRef, useState } from "preact/hooks";

interface Props {
  readonly title: string;
  readonly summary: string;
  readonly draw: (width: number) => Element;
  readonly on: readonly unknown[];
}

export function Figure({ title, summary, draw, on }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver((entries) => setWidth(Math.round(entries[0]?.contentRect.width ?? 0)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (!box.current || width < 50) return;
    const plot = draw(Math.min(width, 620));
    const svg = plot.matches("svg") ? plot : plot.querySelector("svg");
    // The picture is one image with one description: the names that Plot gives its groups are no roles.
    for (const part of svg?.querySelectorAll("[aria-label], [aria-description]") ?? []) {
      part.removeAttribute("aria-label");
      part.removeAttribute("aria-description");
    }
    svg?.setAttribute("role", "img");
    svg?.setAttribute("aria-label", `${title}. ${summary}`);
    box.current.replaceChildren(plot);
  }, [width, ...on]);
  return (
    <figure>
      <figcaption>
        <strong>{title}</strong>
        {summary ? ` ${summary}` : ""}
      </figcaption>
      <div ref={box} />
    </figure>
  );
}

/** One colour a name, in order; the same name has the same colour in every plot. */
export const COLOURS = ["#3b78c9", "#d9822b", "#2f9e66", "#c94f7c", "#8a6fd1", "#b0882a", "#2aa1b3", "#c2503f", "#7a8b99", "#6a9a2e", "#a15fa8", "#4a6d7c"];

export function colourOf(names: readonly string[]): (name: string) => string {
  return (name) => COLOURS[Math.max(0, names.indexOf(name)) % COLOURS.length] ?? "#888";
}

export function Legend({ names }: { readonly names: readonly string[] }) {
  const colour = colourOf(names);
  return (
    <ul class="legend">
      {names.map((name) => (
        <li key={name}>
          <i style={{ background: colour(name) }} />
          {name}
        </li>
      ))}
    </ul>
  );
}
