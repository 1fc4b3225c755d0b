import { acceptable, warning } from "./kind.ts";

/** N2I-D2..: problems of what Nova says. */
export const NOVA = {
  "N2I-D200": warning(
    "what only Nova knows is unknown",
    "The nova database was not read: image, kernel, ramdisk, flavor and VIFs are missing. Extract again with --nova-db.",
  ),
  "N2I-D201": acceptable(
    "instance is not in Nova",
    "Nova has no row by which to tear the machine down, nor one to manage it by. Compare --nova-db, and find out whose it is; accept it to load it with its instance, in maintenance, which keeps Ironic's conductor from it and not Nova.",
  ),
  "N2I-D202": acceptable(
    "instance is deleted in Nova",
    "Nova reaps a running deleted instance: the machine would be torn down, in maintenance too. Release it first; or accept it to load it in maintenance and without its instance, by which Nova would find it (extra.nova_bm.instance_uuid keeps it). Release it before maintenance ends: without an instance it counts as free on Juno.",
  ),
  "N2I-D203": warning(
    "instances.node is not this node",
    "bm_nodes is trusted. plan --nova-db --compute-host NAME writes this uuid there; without it the machine is blocked (N2I-D225).",
  ),
  "N2I-D204": warning(
    "instances.host is not service_host",
    "Nova destroys or hides instances of another host. plan --nova-db --compute-host NAME writes the right one; without it the machine is blocked (N2I-D225).",
  ),
  "N2I-D205": warning(
    "service_host is no nova-compute service",
    "The machine was never managed from there. Correct service_host.",
  ),
  "N2I-D206": acceptable(
    "Nova is working on the instance",
    "instances.task_state is set. Wait until it ends. Where nova-compute is dead it never ends, and the request may wait in its queue: run rabbitmqctl purge_queue compute.HOST while nova-compute is stopped, then openstack server set --state active INSTANCE and extract again, or accept it. While a deployment is in flight accept N2I-D100, which stands for both.",
  ),
  "N2I-D207": warning(
    "Nova places another instance on this node",
    "A failed rebuild leaves such a row. bm_nodes is trusted; fix instances.node.",
  ),
  "N2I-D208": warning(
    "flavor of the instance is gone",
    "A rebuild fails with FlavorNotFound, and deploy images cannot be read from it.",
  ),
  "N2I-D209": warning(
    "network_info cannot be read",
    "VIFs are taken from vif_uuid instead, which ignores MACs on nodes with several NICs.",
  ),
  "N2I-D210": warning(
    "text in Nova is not UTF-8",
    "It is read as Latin-1. Correct the row if that is not what it means.",
  ),
  "N2I-D211": warning(
    "free machine that Nova has a tenant on",
    "nova_bm lost the instance, or instances.node is wrong: the machine is loaded free, in maintenance, so that Nova gives it to nobody. Find out whether a tenant runs there (D207 names it), fix the side that is wrong, extract and plan again; or end maintenance.",
  ),
};
