import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { packed, page as reportPage } from "../../../../src/window/report/page/page.ts";
import { pageAssets } from "../../../../src/window/report/report-file.ts";
import { chromiumPath } from "../../../lab/chromium.ts";
import { reported, sampleFacts } from "../sample.ts";

/** Machines of the page, many enough for several pages of the list and blocks of details. */
const MACHINES = 630;

const folder = mkdtempSync(join(tmpdir(), "n2i-browser-"));
const file = join(folder, "report.html");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser: Browser | null = null;

before(async () => {
  const executablePath = chromiumPath();
  writeFileSync(file, await pageOf(MACHINES));
  // Its own box wants user namespaces, which root and containers are not given; the page is ours.
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function pageOf(machines: number): Promise<string> {
  const all = reported(machines);
  async function* batches() {
    yield all;
  }
  const first = all.slice(0, 25).map(({ machine }) => machine);
  const packedOnes = () => packed(batches(), [["uuid", "bm_nodes.uuid"]]);
  const shown = { facts: sampleFacts(), first, machines: packedOnes };
  let text = "";
  for await (const piece of reportPage(shown, pageAssets())) text += piece;
  return text;
}

async function open(t: TestContext, options: BrowserContextOptions = {}) {
  assert.ok(browser);
  const context = await browser.newContext({ offline: true, ...options });
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const strange: string[] = [];
  page.on("console", (message) => strange.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => strange.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => strange.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (request.url() !== `file://${file}`) strange.push(`request: ${request.url()}`);
  });
  await page.goto(`file://${file}`);
  if (options.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready]");
  return { page, strange };
}

async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const run =
    "axe.run().then((found) => found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html).join(' ')))";
  return page.evaluate<readonly string[]>(run);
}

test("the page opens without a request, a message or an error, whatever names a database holds", async (t) => {
  const opened = await open(t);
  const { page, strange } = opened;
  assert.equal(await page.locator("#count").textContent(), `1 to 50 of ${MACHINES} machines`);
  assert.match(await page.locator("#verdict").innerText(), /^Not ready: 2 of 7 machines/);
  assert.match(await page.locator("#list").innerText(), /<\/script><script>alert\(1\)/);
  assert.deepEqual(strange, []);
});

test("machines are found by a word, a verdict, a finding, and page by page", async (t) => {
  const opened = await open(t);
  const { page, strange } = opened;
  const count = page.locator("#count");
  await page.fill("#search", "10.0.0.3 COMPUTE-2");
  assert.match((await count.textContent()) ?? "", /^1 to \d+ of \d+ machines that match/);
  await page.fill("#search", "nothing has this");
  assert.match((await count.textContent()) ?? "", /^No machine of 0 machines that match/);
  await page.fill("#search", "");
  await page.selectOption("#by-verdict", "skipped");
  const skipped = `1 to 50 of ${MACHINES / 7} machines that match (${MACHINES} in all)`;
  assert.equal(await count.textContent(), skipped);
  await page.locator("#findings + .wide a", { hasText: "N2I-D600" }).click();
  // The page follows the link's fragment in an event of its own, after the click.
  await page.waitForFunction("document.querySelector('#by-finding').value !== '*'");
  assert.equal(await page.inputValue("#by-finding"), "N2I-D600");
  assert.equal(await page.inputValue("#by-verdict"), "*");
  assert.match((await count.textContent()) ?? "", new RegExp(`of ${(MACHINES / 7) * 2} machines`));
  const next = page.locator("#pages button", { hasText: "Next" });
  await next.focus();
  await page.keyboard.press("Enter");
  assert.match((await count.textContent()) ?? "", /^51 to 100 of/);
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Next");
  await page.locator("#list thead button", { hasText: "BM ID" }).click();
  await page.locator("#list thead button", { hasText: "BM ID" }).click();
  assert.equal(await page.locator("#list tbody td").first().textContent(), String(MACHINES - 3));
  assert.deepEqual(strange, []);
});

test("a machine's fields open with their origins by keyboard, and focus returns", async (t) => {
  const opened = await open(t);
  const { page, strange } = opened;
  await page.fill("#search", "a0000000-0000-4000-8000-000000000609");
  const button = page.locator("#list tbody button");
  await button.focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog[open]");
  await dialog.waitFor();
  const text = await dialog.innerText();
  assert.match(text, /Machine a0000000-0000-4000-8000-000000000609/);
  assert.match(text, /driver_info\.ipmi_address\s+"10\.0\.0\.609"/);
  assert.match(text, /uuid\s+"a0000000-0000-4000-8000-000000000609"\s+bm_nodes\.uuid/);
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Escape");
  assert.equal(await dialog.count(), 0);
  assert.equal(await page.evaluate("document.activeElement.className"), "link");
  assert.deepEqual(strange, []);
});

const SCROLLED =
  "[...document.querySelectorAll('.wide')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)";

for (const colorScheme of ["light", "dark"] as const)
  test(`axe-core finds no fault with the page in ${colorScheme}, wide and narrow`, async (t) => {
    for (const width of [1280, 390]) {
      const viewport = { width, height: 800 };
      const opened = await open(t, { colorScheme, viewport });
      assert.deepEqual(await violations(opened.page), []);
      const scrolledTo = await opened.page.evaluate("document.documentElement.scrollWidth");
      assert.equal(scrolledTo, width, "nothing stands out of the screen");
      // On a narrow screen the list of machines alone scrolls sideways.
      const scrolled = await opened.page.evaluate<readonly string[]>(SCROLLED);
      if (width < 640) assert.deepEqual(scrolled, ["List of machines"]);
      assert.deepEqual(opened.strange, []);
    }
  });

test("paper gets every machine, and the screen its page of the list again", async (t) => {
  const opened = await open(t);
  const { page, strange } = opened;
  await page.evaluate(
    "addEventListener('beforeprint', () => { globalThis.rows = document.querySelectorAll('#list tbody tr').length; globalThis.folded = document.querySelectorAll('details:not([open])').length; })",
  );
  const pdf = await page.pdf({ format: "A4" });
  assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
  assert.equal(await page.evaluate("globalThis.rows"), MACHINES);
  assert.equal(await page.locator("#list tbody tr").count(), 50);
  // What was closed is open on paper, and closed again.
  assert.equal(await page.evaluate("globalThis.folded"), 0);
  assert.equal(await page.locator("details:not([open])").count(), 1);
  assert.deepEqual(strange, []);
});

test("the list is saved for a spreadsheet, which takes no name for a formula", async (t) => {
  const opened = await open(t);
  const { page, strange } = opened;
  await page.fill("#search", "=cmd");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  const lines = readFileSync(await download.path(), "utf8").split("\r\n");
  assert.match(lines[0] ?? "", /^"BM ID","Verdict","UUID","BMC Address","Instance"/);
  assert.match(lines[1] ?? "", /,"'=cmd\(""a""\)",/);
  for (const one of strange) assert.match(one, /^request: blob:/);
});

test("nothing that gets into the page could run or reach anybody", async (t) => {
  const opened = await open(t);
  const { page } = opened;
  const ask = "fetch('http://127.0.0.1:9/').then(() => 'went', (error) => error.message)";
  assert.match(await page.evaluate<string>(ask), /Failed to fetch/);
  await page.evaluate(
    `{ const one = document.createElement('script'); one.textContent = 'globalThis.ran = 1'; document.body.append(one); }`,
  );
  assert.equal(await page.evaluate("globalThis.ran"), undefined);
  assert.match(opened.strange.join("\n"), /violates the following Content Security Policy/);
});

test("without a script the page says all but the list, of which it has the first", async (t) => {
  const opened = await open(t, { javaScriptEnabled: false });
  const { page, strange } = opened;
  assert.equal(await page.locator("#list tbody tr").count(), 25);
  assert.match(await page.locator("noscript").innerText(), /These are 0 of 7|nova2ironic show/);
  assert.equal(await page.locator("#filters").isVisible(), false);
  assert.deepEqual(strange, []);
});
