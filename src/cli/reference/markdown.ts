import { type CommandDoc, type OptionDoc, PROGRAM } from "./describe.ts";

/** A command's page of the manual. */
export function commandPage({ name, usage, summary, groups, ...more }: CommandDoc): string {
  const options = groups.map(
    ({ title, options }) =>
      `## ${title}\n\n| | |\n| --- | --- |\n${options.map((one) => row(title, one)).join("\n")}\n`,
  );
  const examples =
    more.examples.length === 0
      ? []
      : [`## Examples\n\n\`\`\`sh\n${more.examples.join("\n")}\n\`\`\`\n`];
  return [
    `# ${PROGRAM} ${name}\n`,
    `${summary}.\n`,
    `\`\`\`sh\n${PROGRAM} ${usage} [options]\n\`\`\`\n`,
    ...options,
    ...(more.epilogue === null ? [] : [`${more.epilogue.replace(/\.$/, "")}.\n`]),
    ...examples,
    "This page is made from the command's options.\n",
  ].join("\n");
}

function row(title: string, { name, letter, takes, choices, text }: OptionDoc): string {
  const long =
    title === "Words" ? name.toUpperCase() : `--${name}${takes === null ? "" : ` ${takes}`}`;
  const flags =
    letter === null ? `\`${long}\`` : `\`${letter.length > 1 ? "--" : "-"}${letter}\`, \`${long}\``;
  const words = choices.length === 0 ? "" : `: ${choices.join(", ")}`;
  return `| ${flags} | ${cell(`${text}${words}`)} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
