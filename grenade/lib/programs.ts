import { locate, type ServerEngine } from "../../test/lab/binaries.ts";
import { versionsOf } from "../../test/lab/python.ts";

/** Each program that a rehearsal runs, and the packages it is in. */
export const PROGRAMS: readonly (readonly [program: string, packages: readonly string[]])[] = [
  ["rabbitmq-server", ["rabbitmq-server"]],
  ["keystone-manage", ["keystone", "nova-common", "glance-common"]],
  ["placement-manage", ["placement-api"]],
  ["neutron-server", ["neutron-server"]],
  ["nova-compute", ["nova-api", "nova-conductor", "nova-scheduler", "nova-compute"]],
  ["ironic-dbsync", ["python3-ironic", "ironic-common"]],
  // Nova's ironic driver wants its library and only suggests it.
  ["baremetal", ["python3-ironicclient"]],
  ["openstack", ["python3-openstackclient"]],
];

export const CLIENTS = {
  mysql: ["mariadb-dump", ["mariadb-client"]],
  postgresql: ["pg_dump", ["postgresql-client"]],
} as const;

/** Packages of what a stack runs and is not installed. */
export function missingPackages(engine: ServerEngine): readonly string[] {
  const packages = [CLIENTS[engine], ...PROGRAMS].flatMap(([program, of]) =>
    locate(program) === null ? of : [],
  );
  // Services only recommend it, as they do MariaDB's.
  if (engine === "postgresql" && versionsOf(["psycopg2"])[0] === null)
    packages.push("python3-psycopg2");
  return packages;
}
