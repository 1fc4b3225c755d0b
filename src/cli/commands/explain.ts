import type { Argv } from "yargs";
import type { FormatOptions } from "../../lib/table/format.ts";
import { manualPage, topics } from "../../run/files/manual.ts";
import { printView } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { codesView, explain } from "../views/explain.ts";
import { exitWith, print } from "./shared.ts";

export const commands = {
  async explain({ code = [], ...args }: FormatOptions & { readonly code?: readonly string[] }) {
    if (code.length === 0) return printView(codesView(), { ...args, every: EVERY.same() });
    const pages = topics();
    const explained = (name: string): string =>
      pages.includes(name) ? manualPage(name) : explain(name, pages);
    print(code.map(explained).join("\n"));
  },

  async demo({ keep }: { readonly keep?: string }) {
    const { demo } = await import("../../demo/demo.ts");
    if (!(await demo(print, keep))) exitWith("failed");
  },

  async completion(_: object, { program }: { readonly program: Argv }) {
    program.showCompletionScript();
  },
};
