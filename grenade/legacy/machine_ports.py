"""Neutron's mechanism driver of a cloud without agents: binds the ports of machines, as a switch does
that has every machine in one network, and logs who is bound to a host and who no longer is."""
from neutron_lib.api.definitions import portbindings
from neutron_lib import constants
from neutron_lib.plugins.ml2 import api
from oslo_log import log

LOG = log.getLogger(__name__)
# nova-baremetal's ports are those of any server, Ironic's are of its own kind.
KINDS = (portbindings.VNIC_NORMAL, portbindings.VNIC_BAREMETAL)


class MachinePorts(api.MechanismDriver):
    def initialize(self):
        pass

    def bind_port(self, context):
        if context.current[portbindings.VNIC_TYPE] not in KINDS:
            return
        segment = context.segments_to_bind[0]
        context.set_binding(segment[api.ID], portbindings.VIF_TYPE_OTHER, {},
                            status=constants.PORT_STATUS_ACTIVE)

    def update_port_postcommit(self, context):
        was, now = context.original, context.current
        before, after = was[portbindings.HOST_ID], now[portbindings.HOST_ID]
        if before != after:
            LOG.info('binding of %s: from %s to %s', now['id'], before or 'nobody',
                     after or 'nobody')
