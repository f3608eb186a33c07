// Where decisions are kept: at the server that the page came from, or in the browser's own storage.
import type { Decision, Sheet } from "./types";

export interface Store {
  /** Keep decisions; they are safe when it is fulfilled. */
  save(decisions: readonly Decision[]): Promise<void>;
  /** Decisions of an earlier visit. */
  readonly earlier: readonly Decision[];
  readonly label: string;
}

export function storeOf(sheet: Sheet): Store {
  return sheet.served ? new AtServer(String(sheet.session ?? "")) : new InBrowser(`abduce-review-${sheet.key}`);
}

class AtServer implements Store {
  readonly earlier: readonly Decision[] = [];
  readonly label = "saved at the server";
  private waiting: Promise<void> = Promise.resolve();
  private unsent: Decision[] = [];

  constructor(private readonly session: string) {}

  /** One request after the other, so that the order of decisions is kept; what failed goes with the next one. */
  save(decisions: readonly Decision[]): Promise<void> {
    this.unsent.push(...decisions);
    const send = async () => {
      const all = [...this.unsent];
      if (!all.length) return;
      const answer = await fetch("decisions", { method: "POST", headers: { "Content-Type": "application/json", "X-Session": this.session }, body: JSON.stringify(all) });
      if (!answer.ok) throw new Error((await answer.text()) || `the server answered ${answer.status}`);
      this.unsent = this.unsent.slice(all.length);
    };
    const sent = this.waiting.then(send);
    this.waiting = sent.catch(() => undefined);
    return sent;
  }
}

class InBrowser implements Store {
  readonly label = "kept in this browser: write them to a file before you leave it";
  readonly earlier: readonly Decision[];
  private readonly all = new Map<string, Decision>();

  constructor(private readonly key: string) {
    this.earlier = read(key);
    for (const decision of this.earlier) this.all.set(decision.fact_id, decision);
  }

  async save(decisions: readonly Decision[]): Promise<void> {
    for (const decision of decisions) this.all.set(decision.fact_id, decision);
    localStorage.setItem(this.key, JSON.stringify([...this.all.values()]));
  }
}

function read(key: string): Decision[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(found) ? (found as Decision[]) : [];
  } catch {
    return []; // what cannot be read was not written by this page
  }
}

/** Decisions of the file and of the browser: of two on one fact the later. */
export function merged(first: readonly Decision[], second: readonly Decision[]): Decision[] {
  const found = new Map(first.map((d) => [d.fact_id, d]));
  for (const decision of second) {
    const old = found.get(decision.fact_id);
    if (!old || old.at <= decision.at) found.set(decision.fact_id, decision);
  }
  return [...found.values()];
}

/** Decisions as the lines of a journal, which `abduce review --merge` reads. */
export function journal(decisions: readonly Decision[]): string {
  return decisions.map((d) => `${JSON.stringify(d)}\n`).join("");
}

export function download(name: string, text: string, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
