import assert from "node:assert/strict";
import { type AgentCommandOptions, withAgent } from "../../../src/takeover/host-agent.ts";
import { addressFile, type TestDatabase } from "../../lab/index.ts";

interface Queried {
  readonly asked: AgentCommandOptions;
  readonly bm: TestDatabase;
  /** On a server that nobody else asks. */
  readonly nova: TestDatabase;
  readonly folder: string;
}

/** No agent begins where Nova's server, as its user sees it, is most of an hour ahead of nova_bm's. */
export async function begunApart({ asked, bm, nova, folder }: Queried): Promise<void> {
  const account = await nova.server?.restrictedUser("ahead", nova.name, "SELECT");
  assert.ok(account);
  const novaDb = addressFile(folder, "ahead", account.url);
  await nova.db.raw("SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + 3000'");
  const begins = (): never => assert.fail("it begins");
  const begun = withAgent({ ...asked, novaDb }, () => undefined, begins);
  const message = /differ by (29|30)\d\d s, but a lease of 60 s allows 10 s/;
  await assert.rejects(begun, { message, code: "N2I-E364" });
  await nova.db.raw("SET GLOBAL init_connect = ''");
  assert.equal(await bm.db("bm_service_leases").first(), undefined);
}
