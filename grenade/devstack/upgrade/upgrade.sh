#!/usr/bin/env bash
# Carries the machines of nova-baremetal to Ironic, by the stages of nova2ironic in their order.
# shellcheck disable=SC1090,SC1091

echo "*********************************************************************"
echo "Begin $0"
echo "*********************************************************************"

cleanup() {
    set +o errexit
    echo "*********************************************************************"
    echo "ERROR: Abort $0"
    echo "*********************************************************************"
    # Signals any calling process too.
    trap 2
    kill -2 $$
}

trap cleanup SIGHUP SIGINT SIGTERM

RUN_DIR=$(cd "$(dirname "$0")" && pwd)

source "$GRENADE_DIR/grenaderc"
source "$GRENADE_DIR/functions"

set -o errexit

source "$TARGET_DEVSTACK_DIR/stackrc"
source "$TARGET_DEVSTACK_DIR/lib/tls"
source "$TARGET_DEVSTACK_DIR/lib/apache"
source "$TARGET_DEVSTACK_DIR/lib/keystone"
source "$TARGET_DEVSTACK_DIR/lib/database"
source "$TARGET_DEVSTACK_DIR/lib/rpc_backend"
source "$TARGET_DEVSTACK_DIR/lib/nova"

source "$TOP_DIR/openrc" admin admin

# Ironic's own DevStack plugin, enabled on the target by our settings.
source "${IRONIC_DEVSTACK_DIR:-$TARGET_RELEASE_DIR/ironic/devstack}/lib/ironic"
source "$RUN_DIR/../lib/nova2ironic"

set -o xtrace

# Save current config files for posterity
[[ -e $SAVE_DIR/nova.conf ]] || cp -p "$NOVA_CONF" "$SAVE_DIR/nova.conf"

# What is of one release: within-RELEASE/upgrade-nova2ironic
N2I_IRONIC_RELEASE="" N2I_PAIRING=()
upgrade_project nova2ironic "$RUN_DIR" "$BASE_DEVSTACK_BRANCH" "$TARGET_DEVSTACK_BRANCH"
[[ -n "$N2I_IRONIC_RELEASE" ]] || die $LINENO "There is no within-RELEASE for $BASE_DEVSTACK_BRANCH"

# An Ironic with an empty database, not started yet.
stack_install_service ironic
configure_ironic
create_ironic_accounts
init_ironic

kernel=$(resource_get nova2ironic deploy_kernel)
ramdisk=$(resource_get nova2ironic deploy_ramdisk)
n2i_write_site "$kernel" "$ramdisk"

nova=(--nova-db "$(n2i_at "$N2I_CELL_DB")" --nova-api-db "$(n2i_at nova_api)")
ironic=(--ironic-db "$(n2i_at ironic)")
legacy=(--nova-bm-db "$(n2i_at nova_bm)")
placement=(--placement-db "$(n2i_at placement)")

n2i extract "${legacy[@]}" "${nova[@]:0:2}" \
    --nova-conf "$N2I_HOST=$NOVA_CONF" --tftp-root "$N2I_HOST=$N2I_TFTP_ROOT"
n2i power --site "$N2I_SITE" --ironic-release "$N2I_IRONIC_RELEASE"
n2i plan "${ironic[@]}" "${nova[@]}" --site "$N2I_SITE" "${N2I_PAIRING[@]}" \
    --deploy-kernel "$kernel" --deploy-ramdisk "$ramdisk"
# 1 is a warning.
n2i check "${legacy[@]}" "${ironic[@]}" "${nova[@]}" "${placement[@]}" "${N2I_PAIRING[@]}" \
    --watch 20 || [[ $? -eq 1 ]]
n2i_wait "nova-compute is silent" 120 n2i_reporting
n2i apply "${ironic[@]}" "${nova[@]}" --yes

start_ironic
n2i_wait "Ironic takes the machines over" 300 n2i_not_taken_over
n2i verify "${ironic[@]}" --takeover

# 2 says that there is something to change: the patch.
n2i config --nova-conf "$N2I_HOST=$NOVA_CONF" >"$N2I_DATA_DIR/nova.conf.patch" || [[ $? -eq 2 ]]
patch -d / -p0 <"$N2I_DATA_DIR/nova.conf.patch"
n2i config --nova-conf "$N2I_HOST=$NOVA_CONF" --check
# How nova-compute logs in to Ironic is the operator's, where it is not there yet.
if [[ -z "$(iniget "$NOVA_CONF" ironic auth_type)" ]]; then
    n2i_configure_client
fi

start_nova_compute
ensure_services_started nova-compute
n2i_wait "Nova offers the machines through Ironic" 300 n2i_not_offered ironic
n2i verify "${ironic[@]}" "${nova[@]}" "${placement[@]}" --final

set +o xtrace
echo "*********************************************************************"
echo "SUCCESS: End $0"
echo "*********************************************************************"
