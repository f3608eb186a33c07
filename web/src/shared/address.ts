// What is shown is in the address: every filter and every opened fact, so that a link leads back to it.
import { useLayoutEffect, useState } from "preact/hooks";

export type Address = Readonly<Record<string, string>>;

/** The settings in the part of an address behind #. */
export function parseAddress(hash: string): Address {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

/** Settings as the part of an address behind #; empty ones are left out. */
export function writeAddress(address: Address): string {
  const kept = Object.entries(address).filter(([, value]) => value !== "");
  return `#${new URLSearchParams(kept)}`;
}

export function changed(address: Address, change: Address): string {
  return writeAddress({ ...address, ...change });
}

/** Go to other settings, at once: the next key already meets them. `replace` keeps them out of the browser's history (typing in a filter). */
export function go(change: Address, replace = false): void {
  const hash = changed(parseAddress(location.hash), change);
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  // A browser tells of a new hash some tasks later, and keys may come before.
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** The settings in the address, kept up to date. */
export function useAddress(): Address {
  const [address, set] = useState(() => parseAddress(location.hash));
  useLayoutEffect(() => {
    const read = () => set(parseAddress(location.hash));
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return address;
}
