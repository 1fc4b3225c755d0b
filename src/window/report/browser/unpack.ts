/** Data of the page, in its order. */
export function islands(kind: string): readonly Element[] {
  return [...document.querySelectorAll(`script.${kind}`)];
}

/** What was packed into the page; the report made it, so its type is taken on its word. */
export async function unpack<T>(island: Element): Promise<T> {
  const packed = atob(island.textContent ?? "");
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as T;
}
