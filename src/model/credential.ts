/** What may be wrong with a credential's characters, seen before it is sealed. */
export function credentialFault(text: string): string | null {
  if (text.includes("\0")) return "holds a NUL character";
  if ([...text].every((letter) => letter <= "\u007f")) return null;
  const bytes = Buffer.from(text, "latin1");
  const whole = [...text].every((letter) => letter <= "\u00ff");
  const again = new TextDecoder("utf-8", { fatal: false }).decode(bytes);
  return whole && !again.includes("\ufffd")
    ? "reads like UTF-8 stored in a Latin-1 column"
    : "is not plain ASCII";
}
