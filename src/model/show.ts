/** A hostile value for a message: quoted, escaped, at most 60 characters. */
export function show(value: string): string {
  const cut = value.length > 60 ? `${value.slice(0, 57)}...` : value;
  return JSON.stringify(cut);
}
