#!/bin/bash
# Stops what nova-baremetal's machines are served by: nova-compute alone.
# shellcheck disable=SC1090,SC1091

set -o errexit

source "$GRENADE_DIR/grenaderc"
source "$GRENADE_DIR/functions"

# We need base DevStack functions for this
source "$BASE_DEVSTACK_DIR/functions"
source "$BASE_DEVSTACK_DIR/stackrc"
source "$BASE_DEVSTACK_DIR/lib/tls"
source "$BASE_DEVSTACK_DIR/lib/apache"
source "$BASE_DEVSTACK_DIR/lib/nova"

set -o xtrace

stop_nova_compute
ensure_services_stopped nova-compute
