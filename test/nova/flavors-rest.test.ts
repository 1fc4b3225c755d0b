import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { caseUuid } from "../../src/demo/case.ts";
import { assertRefusal, ends, run, runs } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import { planFiles } from "../support/plan-files.ts";
import { NEW, OLD } from "./cloud.ts";
import { type FakeCloud, fakeCloud, PASSWORD } from "./fake-cloud.ts";
import { trainCloud } from "./later.ts";
import { KERNEL, RAMDISK, scene } from "./rest-scene.ts";
import { rowsOf, sameRows } from "./rows.ts";

const changing = ({ calls }: FakeCloud): readonly string[] =>
  calls.filter((call) => !call.startsWith("GET"));

test("flavors are changed through Nova's API, each extra spec read right before, and come back", async (t) => {
  const { act, specs, service, said, nova, run: folder } = await scene(t);
  const [before, rows] = [specs(), await rowsOf(nova)];
  assert.match(said.out, /0 extra specs of flavors to change; 4 of flavors outside of it/);
  // The deleted flavor that an instance uses is not to be seen there.
  assert.match(said.out, /N2I-D239 warning instance_types.id=3 old metal/);
  await ends(0, act(["apply"]));
  sameRows(await rowsOf(nova), rows);
  assert.deepEqual(Object.fromEntries(service.flavors.get("11")?.extra_specs ?? []), {
    ...{ cpu_arch: "x86_64", [KERNEL]: NEW.kernel, [RAMDISK]: NEW.ramdisk },
  });
  const writes = changing(service);
  assert.equal(writes.length, 4);
  for (const call of writes) {
    const [path = ""] = / \S+\/os-extra_specs/.exec(call) ?? [];
    assert.equal(service.calls[service.calls.indexOf(call) - 1], `GET${path}`);
  }
  await ends(0, act(["verify"]));
  const after = specs();
  assert.match(
    (await ends(0, act(["apply"]))).out,
    /flavors: 0 rows changed, 4 so already, 0 left/,
  );
  assert.equal(specs(), after);
  await ends(0, act(["rollback", "--all"]));
  assert.equal(specs(), before);
  for (const file of [...planFiles(folder), "journal.jsonl"])
    assert.ok(!readFileSync(`${folder}/${file}`, "utf8").includes(PASSWORD));
});

test("extra specs deleted through Nova's API come back by rollback, but for one that somebody made anew", async (t) => {
  const { act, specs, service } = await scene(t, ["--flavor-images", "delete"]);
  const before = specs();
  await ends(0, act(["apply"]));
  assert.deepEqual([...(service.flavors.get("a/b")?.extra_specs ?? [])], []);
  service.flavors.get("11")?.extra_specs.set(KERNEL, "theirs");
  const back = await ends(2, act(["rollback", "--all"]));
  assert.match(
    back.out,
    /os-extra_specs:11\/baremetal:deploy_kernel_id .*was changed since in value/,
  );
  service.flavors.get("11")?.extra_specs.delete(KERNEL);
  await ends(0, act(["rollback", "--all"]));
  assert.equal(specs(), before);
});

test("what Nova's API answers to a change ends in it being done, or in a clear word and nothing of the load", async (t) => {
  const { act, specs, service, ironic } = await scene(t);
  const [before, empty] = [specs(), await rowsOf(ironic)];
  const once = (said: Parameters<typeof always>[0], done: boolean) => {
    let left = 1;
    return (call: string, work: () => void) => {
      if (call.startsWith("GET") || left === 0) return null;
      left -= 1;
      if (done) work();
      return said;
    };
  };
  const always =
    (said: { readonly status: number; readonly body?: unknown; readonly cut?: true }) =>
    (call: string) =>
      call.startsWith("GET") ? null : said;
  // Somebody changed a spec: found before the first write.
  service.flavors.get("a/b")?.extra_specs.set(RAMDISK, "theirs");
  service.calls.length = 0;
  const stale = await act(["apply"]);
  assert.match(
    stale.err,
    /N2I-E300.*os-extra_specs:a\/b\/baremetal:deploy_ramdisk_id was changed/s,
  );
  assert.deepEqual(changing(service), []);
  service.flavors.get("a/b")?.extra_specs.set(RAMDISK, OLD.ramdisk);
  // Refused for good: nothing is changed, and nothing loaded.
  service.interfere = always({ status: 403, body: { forbidden: { message: "not you" } } });
  const denied = await act(["apply"]);
  assert.match(denied.err, /N2I-E211 .*refuses to change os-extra_specs:11/);
  service.interfere = always({ status: 400, body: { badRequest: { message: "no" } } });
  assert.match((await act(["apply"])).err, /N2I-E212 .*refuses to change os-extra_specs:11/);
  assert.equal(specs(), before);
  sameRows(await rowsOf(ironic), empty);
  // What may pass: a conflict, a server's error done or not, a line cut before or after.
  for (const [said, done] of [
    [{ status: 409 }, false],
    [{ status: 500 }, true],
    [{ status: 0, cut: true }, true],
    [{ status: 0, cut: true }, false],
  ] as const) {
    service.interfere = once(said, done);
    await ends(0, act(["apply"]));
    assert.equal(specs().match(new RegExp(NEW.kernel, "g"))?.length, 2);
    service.interfere = once(said, done);
    await ends(0, act(["rollback", "--all"]));
    assert.equal(specs(), before);
  }
  // A flavor that goes under the hand is left and told, and the load goes on.
  service.interfere = (call) => {
    if (!call.startsWith("PUT") || !call.includes("a%2Fb")) return null;
    service.flavors.delete("a/b");
    return { status: 404 };
  };
  const gone = await ends(2, act(["apply"]));
  assert.match(
    gone.out,
    /Left: os-extra_specs:a\/b\/baremetal:deploy_kernel_id the flavor is gone/,
  );
});

test("a cloud of clouds.yaml is Nova's beside Ironic's database, and a new flavor's instances are found by the copy they carry", async (t) => {
  const given = trainCloud();
  const copy = { id: 7, name: "new metal", flavorid: "m7", swap: 0, extra_specs: {} };
  const flavor = JSON.stringify({ cur: { "nova_object.data": copy } });
  const [first, ...others] = given.nova?.instances ?? [];
  const elsewhere = { ...others.at(-1), id: 5000, uuid: caseUuid("instance", 5000) };
  const made = await deployFiles(t, {
    ...given,
    nova: {
      ...given.nova,
      instances: [
        { ...first, instance_type_id: 7 },
        ...others,
        { ...elsewhere, instance_type_id: 8 },
      ],
      more: {
        instance_extra: [
          { instance_uuid: first?.uuid ?? null, deleted: 0, flavor },
          {
            ...{ instance_uuid: elsewhere.uuid, deleted: 0 },
            flavor: flavor.replace('"id":7', '"id":8').replace("m7", "m8"),
          },
        ],
      },
    },
  });
  const service = await fakeCloud(t);
  for (const [id, name] of [
    ["m7", "new metal"],
    ["m8", "metal elsewhere"],
  ] as const)
    service.flavors.set(id, {
      id,
      name,
      extra_specs: new Map([
        [KERNEL, OLD.kernel],
        [RAMDISK, ""],
      ]),
    });
  const { OS_AUTH_URL: auth_url, OS_USERNAME: username, OS_PASSWORD: password } = service.env;
  const auth = { auth_url, username, password, project_name: "admin" };
  writeFileSync(join(made.folder, "clouds.json"), JSON.stringify({ clouds: { lab: { auth } } }));
  const env = { OS_CLIENT_CONFIG_FILE: join(made.folder, "clouds.json") };
  const { at, source, reader, plan, writer, novaWriter } = made;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const cloudWords = ["--os-cloud", "lab", "--flavors-via", "rest", "-q"];
  const words = [...at, ...reader, ...source.slice(2, 4), ...plan, "--ironic-release", "train"];
  const said = await runs(0, ["plan", ...words, "--flavor-images", "delete", ...cloudWords], {
    env,
  });
  assert.match(said.out, /N2I-D233 warning flavor m8 metal elsewhere: instances of it are on kvm-/);
  await runs(0, ["apply", ...at, ...writer, ...novaWriter, "--yes", ...cloudWords], { env });
  assert.deepEqual(Object.fromEntries(service.flavors.get("m7")?.extra_specs ?? []), {
    ...{ "resources:CUSTOM_METAL": "1", "resources:VCPU": "0" },
    ...{ "resources:MEMORY_MB": "0", "resources:DISK_GB": "0" },
  });
  assert.deepEqual([...(service.flavors.get("m8")?.extra_specs ?? [])], []);
  const alone = ["apply", ...at, ...writer, "--os-cloud", "lab", "-q"];
  assertRefusal(await run(alone, { env }), 64, "N2I-E100", /exclude each other/);
});

test("killed behind a call to Nova's API, an apply goes on, and a rollback goes back", async (t) => {
  const { act, specs } = await scene(t);
  const before = specs();
  await ends(128, act(["apply"], "nova.call.after:2:kill"));
  await ends(0, act(["apply"]));
  assert.equal(specs().match(new RegExp(NEW.ramdisk, "g"))?.length, 2);
  await ends(128, act(["rollback", "--all"], "nova.call.after:2:kill"));
  await ends(0, act(["rollback", "--all"]));
  assert.equal(specs(), before);
});

test("flavors are of one place: nova_api or Nova's API, and the service the plan was made with", async (t) => {
  const { act, at, reader, source, plan, service, writer, novaWriter } = await scene(t);
  const both = ["--flavors-via", "rest", "--nova-api-db", "sqlite:////nowhere"];
  const words = ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, ...both, "-q"];
  assertRefusal(await run(words, { env: service.env }), 64, "N2I-E100", /exclude each other/);
  const { env } = await fakeCloud(t);
  const apply = ["apply", ...at, ...writer, ...novaWriter, "--yes", "-q"];
  assertRefusal(await run(apply, { env }), 4, "N2I-E300", /other flavors: address was/);
  assert.equal(changing(service).length, 0);
  await ends(0, act(["apply"]));
});
