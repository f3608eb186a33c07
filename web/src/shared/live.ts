// A page that is served while its run goes on: it asks for the version, and takes the new data where that changed.
import { forgetPacks } from "./packs";

const EVERY = 2000;

/** Call `changed` whenever the server has newer data in this page; returns what stops it. */
export function follow(changed: () => void): () => void {
  let version = "";
  let stopped = false;
  const ask = async () => {
    try {
      const now = await (await fetch("version", { cache: "no-store" })).text();
      if (version && now !== version) {
        take(await (await fetch("page", { cache: "no-store" })).text());
        changed();
      }
      version = now;
    } catch {
      // The server has ended: what is shown stays.
    }
    if (!stopped) setTimeout(ask, EVERY);
  };
  void ask();
  return () => {
    stopped = true;
  };
}

/** Put the data of another version of this page in place of its own. Scripts of a parsed document never run. */
function take(html: string): void {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  for (const old of document.querySelectorAll("#data, [id^='pack-']")) old.remove();
  for (const element of fresh.querySelectorAll<HTMLScriptElement>("#data, [id^='pack-']")) {
    const copy = document.createElement("script");
    copy.id = element.id;
    copy.type = element.type;
    copy.textContent = element.textContent;
    document.body.append(copy);
  }
  forgetPacks();
}
