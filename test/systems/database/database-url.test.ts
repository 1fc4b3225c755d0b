import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { MigrationError } from "../../../src/lib/error.ts";
import type { DatabaseAddress } from "../../../src/model/database.ts";
import { toAddress } from "../../../src/systems/database/database-url.ts";
import { anyText } from "../../support/any-text.ts";
import { holds } from "../../support/seeded.ts";
import { refusal } from "./temp-file.ts";

const fault = (what: string): MigrationError => new MigrationError("N2I-E102", `--x: ${what}`);
const read = (url: string): DatabaseAddress => toAddress(url, fault).address;

type Login = readonly [url: string, user: string | null, password: string | null, host: string];

const logins: readonly Login[] = [
  ["mysql://h/db", null, null, "h"],
  ["mysql://u@h/db", "u", null, "h"],
  ["mysql://u:@h/db", "u", "", "h"],
  ["mysql+mysqldb://u:p%40%2f@h/db", "u", "p@/", "h"],
  ["mariadb://u:p@ss@h/db", "u", "p@ss", "h"],
  ["mysql://root:sec#ret@h/db", "root", "sec#ret", "h"],
  ["mysql://u:pa/s?s@h/db", "u", "pa/s?s", "h"],
  ["mysql://u:p@a/s@h/db", "u", "p@a/s", "h"],
  ["mysql://u:12/34@h/db", "u", "12/34", "h"],
  ["mysql://u:12/34?5@h/db", "u", "12/34?5", "h"],
  ["mysql://u:a:b@h/db", "u", "a:b", "h"],
  ["mysql://u:100%@h/db", "u", "100%", "h"],
  ["mysql://u:a+b@h/db", "u", "a+b", "h"],
  ["mysql://h:3306/db?ssl_ca=/a@b", null, null, "h"],
  ["mysql://u:p@h/db?ssl_ca=/a%40b/c.pem", "u", "p", "h"],
  ["postgresql+psycopg2://u:p@[fe80::1]:5433/db", "u", "p", "fe80::1"],
  ["postgres://u:p@/db?host=h2&port=5433", "u", "p", "h2"],
  ["POSTGRESQL://u%40corp:p@h/db", "u@corp", "p", "h"],
  ["mysql://u:p@/db", "u", "p", "localhost"],
];
for (const [url, user, password, host] of logins)
  test(`${url} is taken apart as SQLAlchemy does`, () => {
    const address = read(url);
    assert.deepEqual([address.user, address.password()], [user, password]);
    assert.deepEqual([address.host, address.database], [host, "db"]);
  });

const shown: readonly (readonly [string, string])[] = [
  ["mysql+pymysql://u:p@h:3306/db?charset=utf8", "mysql://u@h/db"],
  ["mysql://u:p@h:3307/db", "mysql://u@h:3307/db"],
  ["mysql://u:p@/db?unix_socket=/run/my.sock", "mysql://u@/db?unix_socket=/run/my.sock"],
  ["postgresql://u:p@[::1]:5433/db", "postgresql://u@[::1]:5433/db"],
  ["postgresql:///db?host=/var/run/postgresql", "postgresql:///db?host=/var/run/postgresql"],
  ["mysql://%1b%5b2J:p@h/db", "mysql://%1B%5B2J@h/db"],
  ["sqlite:////var/lib/nova/b@r.sqlite?timeout=3", "sqlite:////var/lib/nova/b@r.sqlite"],
];
for (const [url, text] of shown)
  test(`${url} is shown as ${text}`, () => assert.equal(read(url).label, text));

test("socket and port are what the options say", () => {
  const mysql = read("mysql://u@h/db?charset=utf8&read_timeout=5&unix_socket=%2Frun%2Fs");
  assert.deepEqual([mysql.socket, mysql.host, mysql.port], ["/run/s", null, null]);
  const postgresql = read("postgresql://u@/db?host=/run/pg");
  assert.deepEqual([postgresql.socket, postgresql.host, postgresql.port], ["/run/pg", null, 5432]);
});

test("a SQLite path is absolute, or of this folder, and not decoded", () => {
  assert.equal(read("sqlite:////a/b%20c").filename, "/a/b%20c");
  assert.equal(read("sqlite+pysqlite:///b.db").filename, resolve("b.db"));
});

const tls: readonly (readonly [string, string | null])[] = [
  ["mysql://h/db?ssl_ca=/ca", "verify-full"],
  ["mysql://h/db?ssl_ca=/ca&ssl_check_hostname=false", "verify-ca"],
  ["mysql://h/db?ssl_ca=/ca&ssl_verify_cert=false", "require"],
  ["mysql://h/db?ssl_verify_cert=true", "verify-full"],
  ["mysql://h/db?ssl_cert=/c&ssl_key=/k", "require"],
  ["mysql://h/db?ssl=1", "require"],
  ["mysql://h/db?ssl=0", null],
  ["mysql://h/db", "prefer"],
  ["postgresql://h/db", "prefer"],
  ["mysql://h/db?ssl_mode=VERIFY_CA&ssl_ca=/ca", "verify-ca"],
  ["mysql://h/db?ssl_mode=DISABLED&ssl_ca=/ca", null],
  ["postgresql://h/db?sslmode=disable", null],
  ["postgresql://h/db?sslmode=allow", "allow"],
  ["postgresql://h/db?sslmode=prefer", "prefer"],
  ["postgresql://h/db?sslmode=require", "require"],
  ["postgresql://h/db?sslmode=require&sslrootcert=/ca", "verify-ca"],
  ["postgresql://h/db?sslrootcert=/ca", "verify-ca"],
  ["postgresql://h/db?sslmode=verify-full&sslrootcert=/ca", "verify-full"],
  ["postgresql://h/db?sslcert=/c&sslkey=/k", "require"],
];
for (const [url, mode] of tls)
  test(`${url} asks for TLS mode ${mode}`, () => assert.equal(read(url).tls?.mode ?? null, mode));

test("the TLS files are kept", () => {
  const files = { ca: "/ca", cert: "/c", key: "/k" };
  const mysql = read("mysql://h/db?ssl_ca=/ca&ssl_cert=/c&ssl_key=/k");
  assert.deepEqual(mysql.tls, { mode: "verify-full", ...files });
  const postgresql = read("postgresql://h/db?sslrootcert=/ca&sslcert=/c&sslkey=/k");
  assert.deepEqual(postgresql.tls, { mode: "verify-ca", ...files });
});

for (const url of [
  "oracle://u:pa55@h/db",
  "mysql://u:pa55@h",
  "mysql://u:pa55@h/",
  "mysql://u:pa55@h:99999/db",
  "mysql://u:pa55@h:x/db",
  "mysql://u:pa55@h1,h2/db",
  "mysql://u:pa55@h h/db",
  "mysql://u:pa55@[zz]/db",
  "mysql://u:pa55%ff@h/db",
  "mysql://u:/pa55?x=@h/db",
  "mysql://u:p@h/pa55?x=@h/db",
  "mysql://u:pa55@h/db\n",
  "mysql://u:pa55\uD800@h/db",
  `mysql://u:pa55${"@".repeat(5000)}h/db`,
  "mysql://u:pa55@h/db?ssl_mode=odd",
  "mysql://u:pa55@h/db?ssl_verify_cert=perhaps",
  "postgresql://u:pa55@h/db?sslmode=odd",
  "sqlite://",
  "sqlite:///",
  "sqlite:///:memory:",
  "sqlite://pa55/x.db",
  "sqlite:///file:pa55?uri=true",
])
  test(`${JSON.stringify(url).slice(0, 50)} is refused without repeating it`, () => {
    assert.throws(() => read(url), refusal("N2I-E102", /^--x: /));
  });

test("every user and password comes through percent-encoding as it was", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 60 });
  holds(100, text, text, (user, password) => {
    const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
    const address = read(`mysql://${login}@[::1]:3307/db`);
    assert.deepEqual([address.user ?? "", address.password()], [user, password]);
    assert.deepEqual([address.host, address.port, address.database], ["::1", 3307, "db"]);
  });
});

test("a password not encoded at all comes through whole, or is refused, and is never shown", () => {
  const password = fc.string({ unit: fc.constantFrom(..."ab12#:/@$&+?=[] "), maxLength: 12 });
  holds(3000, password, (text) => {
    try {
      const address = read(`mysql://u:${text}@h/db`);
      assert.deepEqual([address.password(), address.label], [text, "mysql://u@h/db"]);
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error;
      assert.match(error.message, /ambiguous/);
    }
  });
});

test("whatever the text, it is an address or a MigrationError", () => {
  const parts = "mysql sqlite :// : @ / ? = & % [ ] h 9 host".split(" ");
  const some = fc.array(fc.constantFrom(...parts), { maxLength: 25 });
  const likely = some.map((list) => list.join(""));
  const server = likely.map((rest) => `postgresql://${rest}`);
  const any = fc.oneof(anyText, likely, server);
  holds(5000, any, (text) => {
    try {
      JSON.stringify(read(text));
    } catch (error) {
      assert.ok(error instanceof MigrationError && error.code === "N2I-E102", String(error));
    }
  });
});
