import { API, type CheckCases, MOVED, nova, plan } from "./view.ts";

const text = (place: string, charset: string, odd = 0, kind = "general_ci") => {
  const [table = "", column = ""] = place.split(".");
  const own = {
    collation: `${charset}_${kind}`,
    type: "varchar(255)",
    nullable: column !== "name",
  };
  return { table, column, charset, own, odd };
};
const HOST = text("instances.host", "latin1");
const writes = (value: string) =>
  plan({ nova: { ...MOVED, odd: [{ table: "instances", column: "host", value }] } });
/** As PostgreSQL tells it. */
const ONE = { ...HOST, own: null };

/** Of the charsets of nova's tables. */
export const CASES_CHARSETS: CheckCases = {
  Charsets: [
    [nova({ texts: [HOST] }), "Success", /^nova_bm's .*, nova's latin1, Ironic's utf8mb3/],
    [{ ...nova({ texts: [HOST] }), ...writes("gr\u00f6\u00dfe") }, "Success", /latin1/],
    [
      { ...nova({ texts: [HOST] }), ...writes("\u0142\u00f3d\u017a") },
      "Failure",
      /^1 texts .*: instances\.host \(latin1\) "\u0142.*\nFix: ALTER TABLE instances MODIFY `host` varchar\(255\) CHARACTER SET utf8mb3$/m,
    ],
    [
      { ...nova({ texts: [text("instances.host", "utf8mb3")] }), ...writes("\u{1f680}") },
      "Failure",
      /instances\.host \(utf8mb3\).*\nFix: ALTER TABLE instances MODIFY .* CHARACTER SET utf8mb4$/m,
    ],
    [
      { ...nova({ texts: [ONE] }), ...writes("\u0142") },
      "Failure",
      /createdb -E UTF8, pg_restore$/m,
    ],
    [
      nova({ texts: [text("instances.display_name", "latin1", 3)] }),
      "Warning",
      /--nova-db .*: instances\.display_name \(latin1\) in 3 rows\.\nFix: SELECT .*ALTER TABLE instances/,
    ],
    [
      { api: { ...API, texts: [text("flavors.name", "latin1", 1)] } },
      "Warning",
      /behind --nova-api-db .*: flavors\.name \(latin1\) in 1 rows.*ALTER TABLE flavors MODIFY `name` .* utf8mb3 NOT NULL$/ms,
    ],
    [
      nova({
        texts: [HOST, text("services.host", "latin1", 0, "swedish_ci")],
      }),
      "Warning",
      /host latin1_general_ci, services\.host latin1_swedish_ci\.\nFix: ALTER TABLE services MODIFY `host` varchar\(255\) CHARACTER SET latin1 COLLATE latin1_general_ci$/m,
    ],
    [nova({ texts: [HOST, text("services.host", "latin1", 0, "bin")] }), "Success", /latin1/],
    [nova({ texts: [HOST, text("services.host", "utf8mb3")] }), "Success", /and utf8mb3/],
  ],
};
