import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDocuments } from "../../../src/migrate/mapping/mapping.ts";
import { inspectHardware } from "../../../src/migrate/transform/hardware.ts";
import { hardwareOf } from "../../../src/model/ironic/hardware.ts";
import { createAjv } from "../../../src/model/json-schema/schemas.ts";
import type { Row } from "../../../src/model/machine.ts";
import { documents, RELEASES } from "../mapping/broken.ts";

const { hardware: document, drivers } = checkDocuments(createAjv(), documents());
const site = drivers.drivers.find(({ power_manager }) => power_manager === null);
const NEEDED = ["N2I-D413", "N2I-D414"];

for (const release of RELEASES) {
  const hardware = hardwareOf(document, release, RELEASES);
  const codes = (row: Row): readonly string[] => {
    assert.ok(site !== undefined);
    const found = inspectHardware(row, { hardware, target: { release } }, site, "here");
    return [...new Set(found.map(({ code }) => code))];
  };
  const everything = Object.fromEntries(
    [...hardware.needs.values()].flatMap(({ required, login }) =>
      [...required, ...login].map((key) => [key, "there"] as const),
    ),
  );

  test(`${release} takes each driver with each of its interfaces and all it needs, and nothing else`, () => {
    assert.ok(hardware.drivers.size > 0);
    for (const [driver, { interfaces }] of hardware.drivers) {
      assert.deepEqual(codes({ driver, driver_info: everything }), [], driver);
      for (const [kind, names] of interfaces ?? [])
        for (const name of names) {
          const row = { driver, driver_info: everything, [`${kind}_interface`]: name };
          assert.deepEqual(codes(row), [], `${driver} ${kind} ${name}`);
        }
      const other = { driver, driver_info: everything, power_interface: "of-nobody" };
      assert.ok(codes(other).includes("N2I-D412"), driver);
    }
    for (const driver of hardware.elsewhere.keys())
      assert.deepEqual(codes({ driver, driver_info: everything }), ["N2I-D410"], driver);
  });

  test(`${release} refuses an interface of power that speaks to a BMC of which nothing is told`, () => {
    for (const [driver, { interfaces }] of hardware.drivers)
      for (const power_interface of interfaces?.get("power") ?? []) {
        const speaks = hardware.needs.has(power_interface);
        const found = codes({ driver, driver_info: {}, power_interface });
        if (speaks)
          assert.ok(
            found.some((code) => NEEDED.includes(code)),
            power_interface,
          );
      }
  });
}
