import picocolors from "picocolors";

const { red, yellow, green } = picocolors.createColors(true);

type Paint = typeof red;

const FORMATS: ReadonlyMap<string, Paint> = new Map([
  ...paintOf("blocked conflict blocks Failure failed mismatched missing stumbles", red),
  ...paintOf("unreachable wrong-password wrong-user incomplete deadline no", red),
  ...paintOf("drift warning Warning waiting suspended left leave wrong held extra", yellow),
  ...paintOf("create unchanged ok Success done validated right yes ready", green),
]);

function paintOf(text: string, paint: Paint): readonly (readonly [string, Paint])[] {
  return text.split(" ").map((status) => [status, paint]);
}

const VERDICTS: readonly string[] = ["Verdict", "Result", "State", "Kind", "Holds", "Action"];

export function paintCell(column: string, padded: string): string {
  if (!VERDICTS.includes(column)) return padded;
  const status = padded.trim();
  const paint = FORMATS.get(status);
  return paint === undefined ? padded : padded.replace(status, paint(status));
}

/** Text before the verdict of a line: a sign and a machine, a count, a code, or a title. */
const BEFORE =
  /^( +[!+=~-] +(?:\S*[-=]\S* +)?(?:\d+ )?| +\d+ {2}| {2}N2I-D\d{3} |\| Result: )([\w-]+)/;

export function paintLine(line: string): string {
  return line.replace(BEFORE, (match, before: string, status: string) => {
    const paint = FORMATS.get(status);
    return paint === undefined ? match : before + paint(status);
  });
}

export function paintText(text: string): string {
  return text.split("\n").map(paintLine).join("\n");
}
