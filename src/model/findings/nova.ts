import { acceptable, warning } from "./kind.ts";

/** N2I-D2..: Nova's data. */
export const NOVA = {
  "N2I-D200": warning(
    "Nova's data is unknown",
    "Without the nova database, image, kernel, ramdisk, flavor and VIFs are missing. Repeat extract with --nova-db.",
  ),
  "N2I-D201": acceptable(
    "the instance is not in Nova",
    "Without a row, Nova can neither manage the machine nor tear it down. Check --nova-db, and find the owner of the machine. If you accept the finding, the machine is loaded with its instance and in maintenance, which stops Ironic's conductor but not Nova.",
  ),
  "N2I-D202": acceptable(
    "the instance is deleted in Nova",
    "Nova reaps a running deleted instance, and tears the machine down even in maintenance. Release the machine first. If you accept the finding, the machine is loaded in maintenance and without its instance, which hides the machine from Nova (extra.nova_bm.instance_uuid has the instance). Release the machine before maintenance ends, because Juno treats a machine without an instance as free.",
  ),
  "N2I-D203": warning(
    "instances.node is a different node",
    "The value in bm_nodes is used. plan --nova-db --compute-host NAME corrects instances.node. Otherwise the machine is blocked (N2I-D225).",
  ),
  "N2I-D204": warning(
    "instances.host differs from service_host",
    "Nova destroys or hides instances that belong to a different host. plan --nova-db --compute-host NAME corrects instances.host. Otherwise the machine is blocked (N2I-D225).",
  ),
  "N2I-D205": warning(
    "service_host without a live nova-compute service",
    "No nova-compute on that host manages the machine. Correct service_host.",
  ),
  "N2I-D206": acceptable(
    "Nova is working on the instance",
    "instances.task_state is set. Wait until the task ends. If nova-compute is down, the task never ends, and its request may be queued. While nova-compute is stopped, run rabbitmqctl purge_queue compute.HOST, then openstack server set --state active INSTANCE. Then repeat extract, or accept the finding. During a deployment, accept N2I-D100, which covers both findings.",
  ),
  "N2I-D207": warning(
    "another instance on this node in Nova",
    "A failed rebuild leaves such a row. The value in bm_nodes is used. Correct instances.node.",
  ),
  "N2I-D208": warning(
    "the flavor of the instance is missing",
    "A rebuild fails with FlavorNotFound, and the flavor's deploy images cannot be read.",
  ),
  "N2I-D209": warning(
    "unreadable network_info",
    "VIFs are read from vif_uuid instead. On nodes with several NICs, nova-baremetal set it without comparing MACs.",
  ),
  "N2I-D210": warning(
    "Nova text that is not UTF-8",
    "It is read as Latin-1. Correct the row if that is wrong.",
  ),
  "N2I-D211": warning(
    "free machine with an instance in Nova",
    "nova_bm lost the instance, or instances.node is wrong. The machine is loaded as free and in maintenance, so that Nova does not assign it to a tenant. Find out whether a tenant's instance is running there (N2I-D207 shows it), correct the wrong row, then run extract and plan again. If the machine is free, end maintenance.",
  ),
};
