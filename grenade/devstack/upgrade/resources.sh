#!/bin/bash
# Tenants on machines of nova-baremetal, who have to be there after the upgrade as they were.
#
#     resources.sh early_create|create|verify SIDE|verify_noapi SIDE|destroy
#
# shellcheck disable=SC1090,SC1091

set -o errexit

source "$GRENADE_DIR/grenaderc"
source "$GRENADE_DIR/functions"

source "$TOP_DIR/openrc" admin admin
source "$TOP_DIR/lib/database"
source "$(dirname "$0")/../lib/nova2ironic"

set -o xtrace

N2I_PROJECT=nova2ironic_grenade
N2I_USER=nova2ironic_grenade
N2I_PASS=pass
N2I_FLAVOR=nova2ironic_grenade
N2I_SERVERS=${N2I_SERVERS:-4}
INSTANCE_WAIT=${INSTANCE_WAIT:-180}
# Where the tool's proxy listens while it is asked.
N2I_PROXY=${N2I_PROXY:-127.0.0.1:8785}

# As the tenant, in a subshell: ( n2i_as_tenant; openstack ... )
function n2i_as_tenant {
    export OS_PROJECT_NAME=$N2I_PROJECT OS_USERNAME=$N2I_USER OS_PASSWORD=$N2I_PASS
}

# An image with some bytes; its id.
function n2i_image {
    local name=$1 format=$2 container=$3
    shift 3
    local file=$N2I_DATA_DIR/image
    mkdir -p "$N2I_DATA_DIR"
    printf '%s\n' "$name" >"$file"
    openstack image create "$name" --disk-format "$format" --container-format "$container" \
        --file "$file" --public -f value -c id "$@"
    rm "$file"
}

# Deploy images of the old and of the new driver, a tenant's images, and the flavor: as the operator.
function early_create {
    local name kernel ramdisk
    for name in old_deploy deploy; do
        resource_save nova2ironic ${name}_kernel "$(n2i_image $name-kernel aki aki)"
        resource_save nova2ironic ${name}_ramdisk "$(n2i_image $name-ramdisk ari ari)"
    done
    kernel=$(n2i_image tenant-kernel aki aki)
    ramdisk=$(n2i_image tenant-ramdisk ari ari)
    resource_save nova2ironic image "$(n2i_image tenant ami ami \
        --property kernel_id="$kernel" --property ramdisk_id="$ramdisk")"
    resource_save nova2ironic disk "$(n2i_image whole-disk raw bare)"
    resource_save nova2ironic tenant_kernel "$kernel"
    resource_save nova2ironic tenant_ramdisk "$ramdisk"
    openstack flavor create $N2I_FLAVOR --id $N2I_FLAVOR --vcpus 4 --ram 4096 --disk 40 \
        --property cpu_arch=x86_64 \
        --property baremetal:deploy_kernel_id="$(resource_get nova2ironic old_deploy_kernel)" \
        --property baremetal:deploy_ramdisk_id="$(resource_get nova2ironic old_deploy_ramdisk)" \
        --property resources:CUSTOM_"${N2I_RESOURCE_CLASS^^}"=1 \
        --property resources:VCPU=0 --property resources:MEMORY_MB=0 --property resources:DISK_GB=0
}

# How many servers are not ACTIVE.
function n2i_not_active {
    n2i_sql "$N2I_CELL_DB" "SELECT COUNT(*) FROM instances WHERE deleted = 0 \
        AND project_id = '$(resource_get nova2ironic project_id)' \
        AND (vm_state <> 'active' OR task_state IS NOT NULL OR power_state <> 1)"
}

# What of each server must never change: one line, and one word, as resource_save keeps no more.
function n2i_servers {
    n2i_sql "$N2I_CELL_DB" "SELECT uuid, host, node, launched_at FROM instances WHERE deleted = 0 \
        AND project_id = '$(resource_get nova2ironic project_id)' ORDER BY id" | tr '\t\n ' ',;_'
}

# Allocations in Placement of each server: one line.
function n2i_allocations {
    n2i_sql placement "SELECT c.uuid, p.uuid, a.used FROM allocations a \
        JOIN consumers c ON c.uuid = a.consumer_id JOIN projects o ON o.id = c.project_id \
        JOIN resource_providers p ON p.id = a.resource_provider_id \
        WHERE o.external_id = '$(resource_get nova2ironic project_id)' \
        ORDER BY c.uuid, p.uuid" | tr '\t\n ' ',;_'
}

# Dies when the flavor names other deploy images than these.
function n2i_flavor_names {
    local wanted now
    wanted=$(resource_get nova2ironic "$1_kernel"),$(resource_get nova2ironic "$1_ramdisk"),
    now=$(n2i_sql nova_api "SELECT s.value FROM flavor_extra_specs s JOIN flavors f \
        ON f.id = s.flavor_id WHERE f.flavorid = '$N2I_FLAVOR' \
        AND s.key LIKE 'baremetal:deploy%' ORDER BY s.key" | tr '\n' ',')
    [[ "$now" == "$wanted" ]] || die $LINENO "The flavor names $now, not $wanted"
}

# Rows that Nova has for the machines: one line.
function n2i_compute_nodes {
    n2i_sql "$N2I_CELL_DB" "SELECT id, uuid, hypervisor_hostname FROM compute_nodes \
        WHERE deleted = 0 ORDER BY id" | tr '\t\n ' ',;_'
}

# Power of each machine: one line.
function n2i_machines {
    n2i_power | tr '\n ' ';_'
}

function create {
    local project user at
    project=$(openstack project create $N2I_PROJECT -f value -c id)
    resource_save nova2ironic project_id "$project"
    user=$(openstack user create $N2I_USER --project "$project" --password $N2I_PASS \
        -f value -c id)
    resource_save nova2ironic user_id "$user"
    openstack role add member --user "$user" --project "$project"
    n2i_wait "Nova offers the machines" 120 n2i_not_offered baremetal
    for at in $(seq "$N2I_SERVERS"); do
        (
            n2i_as_tenant
            openstack --os-compute-api-version 2.37 server create "tenant-$at" --nic none \
                --flavor "$N2I_FLAVOR" --image "$(resource_get nova2ironic image)" -f value -c id
        )
    done
    n2i_wait "servers are ACTIVE" "$INSTANCE_WAIT" n2i_not_active
    resource_save nova2ironic servers "$(n2i_servers)"
    resource_save nova2ironic allocations "$(n2i_allocations)"
    resource_save nova2ironic compute_nodes "$(n2i_compute_nodes)"
    resource_save nova2ironic power "$(n2i_machines)"
}

# Dies when something is not as it was saved.
function n2i_same {
    local what=$1 now=$2 saved
    saved=$(resource_get nova2ironic "$what")
    [[ -n "$saved" ]] || die $LINENO "$what was never saved"
    [[ "$now" == "$saved" ]] || die $LINENO "$what: was $saved, is $now"
}

function verify {
    local side=$1 listed
    verify_noapi "$side"
    [[ "$(n2i_not_active)" == 0 ]] || die $LINENO "Not all servers are ACTIVE"
    listed=$(n2i_as_tenant && openstack server list -f value -c Status)
    [[ "$(sort -u <<<"$listed")" == ACTIVE ]] || die $LINENO "The tenant sees $listed"
    [[ "$(wc -l <<<"$listed")" == "$N2I_SERVERS" ]] || die $LINENO "The tenant sees $listed"
    if [[ "$side" == pre-upgrade ]]; then
        n2i_flavor_names old_deploy
    else
        n2i_flavor_names deploy
        [[ "$(n2i_not_offered ironic)" == 0 ]] || die $LINENO "Nova does not offer all machines"
        n2i_proxy
        # Tenants delete and rebuild from here on.
        n2i finish --ironic-db "$(n2i_at ironic)" --yes
    fi
}

# Serves os-baremetal-nodes, every GET of which is a 500 of Nova's own, and asks for all machines: as the
# operator, as a tenant and without a token.
function n2i_proxy {
    local log=$N2I_DATA_DIR/proxy.log ironic=(--from-catalog) live
    [[ -z "${N2I_IRONIC_URL:-}" ]] || ironic=(--ironic-url "$N2I_IRONIC_URL")
    : >"$log"
    "$NOVA2IRONIC" serve proxy --listen "$N2I_PROXY" --keystone-url "$OS_AUTH_URL" "${ironic[@]}" 2>"$log" &
    # shellcheck disable=SC2064
    trap "kill $!" EXIT
    n2i_wait "the proxy listens" 60 n2i_deaf "$log"
    live=$(n2i_sql ironic "SELECT COUNT(*) FROM nodes")
    n2i_is "the operator" "200 $live" "$(n2i_listed)"
    n2i_is "a tenant" "403 0" "$(n2i_as_tenant && n2i_listed)"
    n2i_is "nobody" "401 0" "$(unset OS_AUTH_URL && n2i_listed)"
    trap - EXIT
    kill $!
    # 143 is SIGTERM's.
    wait $! || [[ $? -eq 143 ]]
}

# Its log, until it listens.
function n2i_deaf {
    grep --quiet "listening on" "$1" || cat "$1" - <<<"not listening"
}

# What the proxy answers to a list, and of how many machines: `200 6`. Without OS_AUTH_URL nobody asks. No
# token is in the arguments or in a trace.
function n2i_listed {
    local token="" body=$N2I_DATA_DIR/listed status
    set +o xtrace
    [[ -z "${OS_AUTH_URL:-}" ]] || token=$(openstack token issue -f value -c id)
    status=$(curl --silent --output "$body" --write-out '%{http_code}' --header @- \
        "http://$N2I_PROXY/v2.1/os-baremetal-nodes" <<<"${token:+X-Auth-Token: $token}")
    echo "$status $(grep -o '"interfaces"' "$body" | wc -l)"
    rm "$body"
}

function n2i_is {
    local who=$1 wanted=$2 now=$3
    [[ "$now" == "$wanted" ]] || die $LINENO "The proxy says $now to $who, not $wanted"
    echo_summary "os-baremetal-nodes: $now to $who"
}

# No service has to answer: databases and BMCs alone are asked.
function verify_noapi {
    local side=$1
    n2i_same servers "$(n2i_servers)"
    n2i_same allocations "$(n2i_allocations)"
    n2i_same compute_nodes "$(n2i_compute_nodes)"
    n2i_same power "$(n2i_machines)"
    echo_summary "$side: servers, allocations and machines are as they were"
}

# Those of the tenants' machines that Ironic has in use, or whose BMCs are on.
function n2i_not_freed {
    local used uuid state
    used=$(resource_get nova2ironic servers)
    {
        n2i_sql ironic "SELECT uuid, provision_state FROM nodes"
        n2i_power
    } | while read -r uuid state; do
        case $state in available | off) continue ;; esac
        [[ "$used" != *"$uuid"* ]] || echo "$uuid is $state"
    done
}

function destroy {
    local at first
    first=$(n2i_as_tenant && openstack server list --sort-column Name -f value -c ID | head -n 1)
    # A tenant who uses what he was promised.
    (
        n2i_as_tenant
        openstack server stop "$first"
        n2i_wait "the server is SHUTOFF" "$INSTANCE_WAIT" n2i_server_is_not "$first" SHUTOFF
        n2i_wait "Nova takes the start" "$INSTANCE_WAIT" n2i_start "$first"
        n2i_wait "the server is ACTIVE" "$INSTANCE_WAIT" n2i_server_is_not "$first" ACTIVE
        for at in $(openstack server list -f value -c ID); do
            openstack server delete --wait "$at"
        done
    )
    n2i_wait "Ironic has the machines back" "$INSTANCE_WAIT" n2i_not_freed
    [[ -z "$(n2i_allocations)" ]] || die $LINENO "Placement has allocations: $(n2i_allocations)"
    openstack flavor delete $N2I_FLAVOR
    for at in {old_deploy,deploy,tenant}_{kernel,ramdisk} image disk; do
        openstack image delete "$(resource_get nova2ironic "$at")"
    done
    openstack user delete "$(resource_get nova2ironic user_id)"
    openstack project delete "$(resource_get nova2ironic project_id)"
    # Addresses of databases, with passwords.
    rm -rf "$N2I_DATA_DIR/addresses"
}

# What is said against it. A power sync that looked just before has the server stopped once more: 409 until then.
function n2i_start {
    openstack server start "$1" 2>&1 || true
}

# Its task and status, unless it has none and is this one: Nova refuses what is asked amid a task.
function n2i_server_is_not {
    local now
    now=$(openstack server show "$1" -f value -c OS-EXT-STS:task_state -c status | tr '\n' ' ')
    [[ "$now" == "None $2 " ]] || echo "$now"
}

case $1 in
    "early_create")
        early_create
        ;;
    "create")
        create
        ;;
    "verify")
        verify "$2"
        ;;
    "verify_noapi")
        verify_noapi "$2"
        ;;
    "destroy")
        destroy
        ;;
esac
