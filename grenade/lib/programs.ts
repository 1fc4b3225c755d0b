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

/** Further programs of a rehearsal on PostgreSQL or with Tempest. */
export const MORE_PROGRAMS: typeof PROGRAMS = [
  ["pg_dump", ["postgresql-client"]],
  ["tempest", ["tempest", "ironic-tempest-plugin"]],
  ["subunit2csv", ["python3-stestr", "subunit"]],
];
