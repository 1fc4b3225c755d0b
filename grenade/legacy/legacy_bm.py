"""A stand-in for nova.virt.baremetal on a Nova that no longer has it.

Its nodes are the live rows of a real nova_bm whose service_host is this host. What it writes when
a server is made, switched or deleted is what nova-baremetal wrote: instance, task_state, sizes, the
boot files of the machine below tftp_root, its port's MAC and DHCP options. Power goes to the BMC by ipmitool.
"""
import contextlib
import datetime
import os
import subprocess
import urllib.parse
import uuid

from nova import conf
from nova import exception
from nova.compute import power_state
from nova.network import neutron
from nova.virt import driver
from nova.virt import fake
from nova.virt import hardware
from oslo_config import cfg

CONF = conf.CONF
CONF.register_opts([
    cfg.StrOpt('sql_connection', secret=True),
    cfg.StrOpt('tftp_root', default='/tftpboot'),
], group='baremetal')

RESOURCE_CLASS = 'CUSTOM_BM'
CONFIG = """default boot

label deploy
kernel {at}/deploy_kernel
append initrd={at}/deploy_ramdisk selinux=0 deployment_id={id}
ipappend 3


label boot
kernel {at}/kernel
append initrd={at}/ramdisk root=UUID={root} ro nofb nomodeset vga=normal """


def connect():
    at = urllib.parse.urlsplit(CONF.baremetal.sql_connection)
    named = dict(host=at.hostname, port=at.port, user=at.username, password=at.password)
    if at.scheme.startswith('postgresql'):
        import psycopg2
        import psycopg2.extras
        db = psycopg2.connect(dbname=at.path[1:], cursor_factory=psycopg2.extras.RealDictCursor,
                              **named)
        db.autocommit = True
        return db
    import pymysql
    import pymysql.cursors
    return pymysql.connect(database=at.path[1:], autocommit=True,
                           cursorclass=pymysql.cursors.DictCursor, **named)


def query(sql, *values):
    with contextlib.closing(connect()) as db:
        with db.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall() if cursor.description else []


def now():
    return datetime.datetime.utcnow().replace(microsecond=0)


def ipmi(row, *words):
    said = subprocess.run(
        ['ipmitool', '-I', 'lanplus', '-C', '3', '-H', row['pm_address'], '-U', row['pm_user'],
         '-E', 'power', *words],
        capture_output=True, text=True, timeout=60,
        env=dict(os.environ, IPMI_PASSWORD=row['pm_password']))
    if said.returncode != 0:
        raise exception.InstancePowerOffFailure(reason=said.stderr)
    return said.stdout


class PortsOf(object):
    """A client of Neutron that gives an instance's new port what nova-baremetal's macs_for_instance
    and dhcp_options_for_instance gave it; Nova no longer asks a driver for them."""

    def __init__(self, client, instance):
        self._client, self._instance = client, instance

    def __getattr__(self, name):
        return getattr(self._client, name)

    def create_port(self, body):
        address, = query('SELECT i.address FROM bm_interfaces i JOIN bm_nodes n ON n.id = i.bm_node_id'
                         ' WHERE n.uuid = %s AND n.deleted = false ORDER BY i.id LIMIT 1',
                         self._instance.node)
        options = {'bootfile-name': 'pxelinux.0', 'server-ip-address': CONF.my_ip,
                   'tftp-server': CONF.my_ip}
        body['port'].update(mac_address=address['address'], extra_dhcp_opts=[
            {'opt_name': name, 'opt_value': value} for name, value in options.items()])
        return self._client.create_port(body)


def with_ports_of(create):
    def _create_port_minimal(api, context, client, instance, *words, **named):
        return create(api, context, PortsOf(client, instance), instance, *words, **named)
    return _create_port_minimal


neutron.API._create_port_minimal = with_ports_of(neutron.API._create_port_minimal)


class LegacyBareMetalDriver(fake.FakeDriver):
    capabilities = dict(driver.ComputeDriver.capabilities, supports_evacuate=False)

    def init_host(self, host):
        self._host = host

    def _rows(self):
        return query('SELECT * FROM bm_nodes WHERE service_host = %s AND deleted = false', CONF.host)

    def _row(self, instance):
        rows = query('SELECT * FROM bm_nodes WHERE instance_uuid = %s AND deleted = false',
                     instance.uuid)
        if not rows:
            raise exception.InstanceNotFound(instance_id=instance.uuid)
        return rows[0]

    def get_available_nodes(self, refresh=False):
        return [row['uuid'] for row in self._rows()]

    def node_is_available(self, nodename):
        return nodename in self.get_available_nodes()

    def get_nodenames_by_uuid(self, refresh=False):
        return {row['uuid']: row['uuid'] for row in self._rows()}

    def list_instances(self):
        return [row['instance_name'] for row in self._rows() if row['instance_uuid']]

    def list_instance_uuids(self):
        return [row['instance_uuid'] for row in self._rows() if row['instance_uuid']]

    def get_available_resource(self, nodename):
        row = query('SELECT * FROM bm_nodes WHERE uuid = %s AND deleted = false', nodename)[0]
        share = 1 if row['instance_uuid'] else 0
        return {
            'uuid': nodename,
            'vcpus': row['cpus'], 'vcpus_used': row['cpus'] * share,
            'memory_mb': row['memory_mb'], 'memory_mb_used': row['memory_mb'] * share,
            'local_gb': row['local_gb'], 'local_gb_used': row['local_gb'] * share,
            'hypervisor_type': 'baremetal', 'hypervisor_version': 1,
            'hypervisor_hostname': nodename, 'cpu_info': 'baremetal cpu',
            'disk_available_least': 0, 'numa_topology': None,
            'supported_instances': [('x86_64', 'baremetal', 'baremetal')],
            'stats': {'cpu_arch': 'x86_64'},
        }

    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        # One in error is offered to nobody, as an operator sees to it.
        row = query('SELECT * FROM bm_nodes WHERE uuid = %s AND deleted = false', nodename)[0]
        unfit = row['task_state'] in ('error', 'deploy failed') and not row['instance_uuid']
        provider_tree.update_inventory(nodename, {RESOURCE_CLASS: {
            'total': 1, 'reserved': 1 if unfit else 0, 'min_unit': 1, 'max_unit': 1, 'step_size': 1,
            'allocation_ratio': 1.0}})

    def spawn(self, context, instance, image_meta, injected_files, admin_password, allocations,
              network_info=None, block_device_info=None, power_on=True, accel_info=None):
        query("UPDATE bm_nodes SET instance_uuid = %s, instance_name = %s, task_state = 'active',"
              ' root_mb = %s, swap_mb = 1, ephemeral_mb = %s, updated_at = %s'
              ' WHERE uuid = %s AND instance_uuid IS NULL',
              instance.uuid, instance.hostname, instance.root_gb * 1024,
              instance.ephemeral_gb * 1024, now(), instance.node)
        row = self._row(instance)
        for vif in network_info or ():
            free, *_ = query('SELECT id FROM bm_interfaces WHERE bm_node_id = %s AND vif_uuid IS NULL'
                             ' ORDER BY id', row['id'])
            query('UPDATE bm_interfaces SET vif_uuid = %s WHERE id = %s', vif['id'], free['id'])
        self._boot_files(row, instance)
        ipmi(row, 'on')

    def _boot_files(self, row, instance):
        root = CONF.baremetal.tftp_root
        folder = os.path.join(root, instance.uuid)
        links = os.path.join(root, 'pxelinux.cfg')
        for path in folder, links:
            os.makedirs(path, exist_ok=True)
        for name in 'kernel', 'ramdisk':
            with open(os.path.join(folder, name), 'w') as file:
                file.write('%s of %s\n' % (name, instance.uuid))
        with open(os.path.join(folder, 'config'), 'w') as file:
            file.write(CONFIG.format(at='/tftpboot/' + instance.uuid, id=row['id'],
                                     root=uuid.uuid5(uuid.NAMESPACE_OID, instance.uuid)))
        for one in query('SELECT address FROM bm_interfaces WHERE bm_node_id = %s', row['id']):
            os.symlink('/tftpboot/%s/config' % instance.uuid,
                       os.path.join(links, '01-' + one['address'].replace(':', '-')))

    def destroy(self, context, instance, network_info, block_device_info=None,
                destroy_disks=True, destroy_secrets=True):
        try:
            row = self._row(instance)
        except exception.InstanceNotFound:
            return
        ipmi(row, 'off')
        query('UPDATE bm_interfaces SET vif_uuid = NULL WHERE bm_node_id = %s', row['id'])
        query("UPDATE bm_nodes SET instance_uuid = NULL, instance_name = NULL,"
              " task_state = 'deleted', updated_at = %s WHERE id = %s", now(), row['id'])

    def cleanup(self, *words, **named):
        pass

    def power_on(self, context, instance, *words, **named):
        ipmi(self._row(instance), 'on')

    def power_off(self, instance, timeout=0, retry_interval=0):
        ipmi(self._row(instance), 'off')

    def get_info(self, instance, use_cache=True):
        on = ipmi(self._row(instance), 'status').strip().endswith('on')
        return hardware.InstanceInfo(
            state=power_state.RUNNING if on else power_state.SHUTDOWN)
