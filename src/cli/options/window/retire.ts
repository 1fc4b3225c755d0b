import type { RetireWords } from "../../../window/retire/retire.ts";
import type { Voice } from "../../commands/shared.ts";
import type { Declared } from "../declared.ts";
import { common, meaning, NOVA_DATABASES, needed, TARGET } from "../shared.ts";

export interface RetireArgs extends Voice, RetireWords {}

export const retireOptions: Declared = {
  command: "retire",
  describe:
    "After the window: check whether nova_bm may go, and print the dump and DROP statements",
  options: {
    ...common("run"),
    ...needed("nova-bm-db"),
    ...common(...TARGET),
    ...meaning("nova-db", "Nova's database: also check that no nova-compute is of nova-baremetal"),
    ...common(...NOVA_DATABASES.slice(1)),
    ...common("key-file"),
  },
  examples: [
    "$0 retire --run m1 --nova-bm-db conf:/etc/nova/nova.conf --ironic-db conf:/etc/ironic/ironic.conf",
  ],
};
