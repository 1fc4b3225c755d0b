import { acceptable, warning } from "./kind.ts";

/** N2I-D2..: Nova's data. */
export const NOVA = {
  "N2I-D200": warning(
    "Nova's data is unknown",
    "Without the nova database, image, kernel, ramdisk, flavor and VIFs are missing. Repeat extract with --nova-db.",
  ),
  "N2I-D201": acceptable(
    "the instance is not in Nova",
    "Nova has no row to manage the machine or tear it down. Compare --nova-db, and find its owner. If you accept the finding, it is loaded with its instance, in maintenance, which stops Ironic's conductor but not Nova.",
  ),
  "N2I-D202": acceptable(
    "the instance is deleted in Nova",
    "Nova reaps a running deleted instance, and tears the machine down even in maintenance. Release it first. If you accept the finding, it is loaded in maintenance and hidden from Nova without its instance (extra.nova_bm.instance_uuid keeps it). Release it before maintenance ends, because Juno treats a machine without an instance as free.",
  ),
  "N2I-D203": warning(
    "instances.node names another node",
    "bm_nodes is trusted. plan --nova-db --compute-host NAME corrects it. Otherwise the machine is blocked (N2I-D225).",
  ),
  "N2I-D204": warning(
    "instances.host differs from service_host",
    "Nova destroys or hides instances of another host. plan --nova-db --compute-host NAME corrects it. Otherwise the machine is blocked (N2I-D225).",
  ),
  "N2I-D205": warning(
    "service_host without a live nova-compute service",
    "No nova-compute manages the machine from there. Correct service_host.",
  ),
  "N2I-D206": acceptable(
    "Nova is working on the instance",
    "instances.task_state is set. Wait until it ends. If nova-compute is down, it never ends, and the request may be queued: run rabbitmqctl purge_queue compute.HOST while nova-compute is stopped, then openstack server set --state active INSTANCE, and repeat extract or accept the finding. During a deployment, accept N2I-D100, which covers both.",
  ),
  "N2I-D207": warning(
    "another instance on this node in Nova",
    "A failed rebuild leaves such a row. bm_nodes is trusted. Correct instances.node.",
  ),
  "N2I-D208": warning(
    "the flavor of the instance is missing",
    "A rebuild fails with FlavorNotFound, and the flavor's deploy images cannot be read.",
  ),
  "N2I-D209": warning(
    "unreadable network_info",
    "VIFs are read from vif_uuid instead, which ignores MACs on nodes with several NICs.",
  ),
  "N2I-D210": warning(
    "Nova text that is not UTF-8",
    "It is read as Latin-1. Correct the row if that is wrong.",
  ),
  "N2I-D211": warning(
    "free machine with an instance in Nova",
    "nova_bm lost the instance, or instances.node is wrong. The machine is loaded free, in maintenance, so that Nova assigns it to no tenant. Find out whether a tenant runs there (N2I-D207 names it), correct the wrong side, then repeat extract and plan. Or end maintenance.",
  ),
};
