// What a page carries: one JSON object, and packs (JSON that is gzipped and unpacked when it is asked for).

/** The JSON object in the script element of this id. */
export function embedded<T>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no ${id}`);
  return JSON.parse(element.textContent ?? "null") as T;
}

/** Bytes of base64 text. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const raw = atob(base64.trim());
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** The text that gzip packed. */
export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).text();
}

const kept = new Map<string, Promise<unknown>>();

/** The pack of this name, unpacked once. */
export function pack<T>(name: string): Promise<T> {
  let found = kept.get(name);
  if (!found) {
    found = unpack(name);
    kept.set(name, found);
  }
  return found as Promise<T>;
}

async function unpack(name: string): Promise<unknown> {
  const element = document.getElementById(`pack-${name}`);
  if (!element) throw new Error(`the page has no pack ${name}`);
  return JSON.parse(await gunzip(bytesOf(element.textContent ?? "")));
}

/** Forget the packs of a page whose data were replaced. */
export function forgetPacks(): void {
  kept.clear();
}
