/** Data elements of the page, in order. */
export function islands(kind: string): readonly Element[] {
  return [...document.querySelectorAll(`script.${kind}`)];
}

/** Unpacks data of the page. The report created it, so its type is trusted. */
export async function unpack<T>(island: Element): Promise<T> {
  const packed = atob(island.textContent ?? "");
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as T;
}
