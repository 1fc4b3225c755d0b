#!/bin/bash
# plugin.sh: puts machines of nova-baremetal into a DevStack: nova_bm, simulated BMCs, and a driver that
# serves them on a Nova of today.
# shellcheck disable=SC1091

N2I_PLUGIN_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$N2I_PLUGIN_DIR/devstack/lib/nova2ironic"

# Nova takes a compute_driver from nova.virt alone.
function n2i_install_driver {
    ln -sf "$N2I_PLUGIN_DIR/legacy/legacy_bm.py" "$NOVA_DIR/nova/virt/legacy_bm.py"
}

function n2i_configure_nova {
    mkdir -p "$N2I_TFTP_ROOT"
    iniset "$NOVA_CONF" DEFAULT compute_driver legacy_bm.LegacyBareMetalDriver
    iniset "$NOVA_CONF" baremetal sql_connection "$(database_connection_url nova_bm)"
    iniset "$NOVA_CONF" baremetal driver nova.virt.baremetal.pxe.PXE
    iniset "$NOVA_CONF" baremetal power_manager nova.virt.baremetal.ipmi.IPMI
    iniset "$NOVA_CONF" baremetal flavor_extra_specs cpu_arch:x86_64
    iniset "$NOVA_CONF" baremetal tftp_root "$N2I_TFTP_ROOT"
}

# Tables, and a row for each machine; passwords are of this DevStack alone.
function n2i_fill_nova_bm {
    local at mac
    recreate_database nova_bm
    n2i_sql nova_bm "$(cat "$N2I_PLUGIN_DIR/legacy/nova_bm.sql")"
    for at in $(seq "$N2I_MACHINES"); do
        printf -v mac '52:54:00:00:00:%02x' "$at"
        n2i_sql nova_bm "INSERT INTO bm_nodes (created_at, deleted, cpus, memory_mb, local_gb, \
            pm_address, pm_user, pm_password, service_host, uuid, preserve_ephemeral) VALUES \
            (UTC_TIMESTAMP(), 0, 4, 4096, 40, '127.0.$N2I_BMC_NET.$at', 'admin', \
            'secret$at', '$N2I_HOST', '$(</proc/sys/kernel/random/uuid)', 0); \
            INSERT INTO bm_interfaces (created_at, deleted, bm_node_id, address) \
            VALUES (UTC_TIMESTAMP(), 0, LAST_INSERT_ID(), '$mac')"
    done
}

# What ipmi_sim reads: a controller, an address and a user for each machine. The power of a machine
# is a file, chassis.sh what reads and writes it.
function n2i_configure_bmcs {
    local folder=$N2I_DATA_DIR/bmc at mc lan emu
    mkdir -p "$folder/state"
    cat >"$folder/chassis.sh" <<'EOF'
#!/bin/sh
file=$1 what=$2
shift 2
if [ "$what" = get ]; then
    for name; do
        case $name in power) echo "power:$(cat "$file")" ;; boot) echo boot:none ;; esac
    done
    exit 0
fi
while [ $# -gt 1 ]; do
    case $1 in power) echo "$2" >"$file" ;; reset) echo 1 >"$file" ;; shutdown) echo 0 >"$file" ;; esac
    shift 2
done
EOF
    chmod +x "$folder/chassis.sh"
    lan='name "devstack"' emu=""
    for at in $(seq "$N2I_MACHINES"); do
        [[ -e "$folder/power.$at" ]] || echo 0 >"$folder/power.$at"
        printf -v mc '0x%x' $((0x20 + 2 * (at - 1)))
        lan+="
set_working_mc $mc
  startlan 1
    addr 127.0.$N2I_BMC_NET.$at 623
    priv_limit admin
    allowed_auths_admin none md2 md5 straight
    guid $(printf '%032x' "$at")
  endlan
  chassis_control \"$folder/chassis.sh $folder/power.$at\"
  user 2 true \"admin\" \"secret$at\" admin 10 none md2 md5 straight"
        emu+="mc_add $mc 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
"
        [[ "$at" == 1 ]] || emu+="mc_enable $mc
"
    done
    (umask 077 && echo "$lan" >"$folder/lan.conf")
    printf 'mc_setbmc 0x20\n%smc_enable 0x20\n' "$emu" >"$folder/sim.emu"
}

# Port 623 is for root.
function n2i_start_bmcs {
    local folder=$N2I_DATA_DIR/bmc
    run_process n2i-bmc "$(command -v ipmi_sim) -n -p -c $folder/lan.conf -f $folder/sim.emu \
-s $folder/state" root root
}

if is_service_enabled n2i-bmc; then
    case "$1/$2" in
        stack/pre-install)
            install_package openipmi ipmitool
            ;;
        stack/install)
            n2i_install_driver
            ;;
        stack/post-config)
            echo_summary "Configuring machines of nova-baremetal"
            n2i_configure_nova
            n2i_fill_nova_bm
            n2i_configure_bmcs
            n2i_start_bmcs
            ;;
        unstack/*)
            stop_process n2i-bmc
            ;;
        clean/*)
            rm -rf "$N2I_DATA_DIR"
            rm -f "$NOVA_DIR/nova/virt/legacy_bm.py"
            ;;
    esac
fi
