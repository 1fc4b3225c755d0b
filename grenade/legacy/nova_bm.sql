-- nova_bm at version 10, its last (Icehouse and Juno), as nova-baremetal-manage db sync leaves it.
CREATE TABLE migrate_version (
  repository_id varchar(250) NOT NULL PRIMARY KEY,
  repository_path text,
  version int
) DEFAULT CHARSET=latin1;
INSERT INTO migrate_version VALUES ('nova_bm', 'nova/virt/baremetal/db/sqlalchemy/migrate_repo', 10);
CREATE TABLE bm_nodes (
  created_at datetime, updated_at datetime, deleted_at datetime, deleted tinyint(1),
  id int NOT NULL AUTO_INCREMENT PRIMARY KEY,
  cpus int, memory_mb int, local_gb int,
  pm_address varchar(255), pm_user varchar(255), pm_password varchar(255),
  service_host varchar(255), instance_uuid varchar(36), task_state varchar(255),
  terminal_port int, image_path varchar(255), pxe_config_path varchar(255),
  deploy_key varchar(255), root_mb int, swap_mb int, uuid varchar(36),
  instance_name varchar(255), ephemeral_mb int, preserve_ephemeral tinyint(1) DEFAULT 0,
  UNIQUE KEY uuid_ux (uuid),
  KEY idx_bm_nodes_service_host_deleted (service_host, deleted),
  KEY idx_bm_nodes_instance_uuid_deleted (instance_uuid, deleted),
  KEY idx_bm_nodes_hmcld (service_host, memory_mb, cpus, local_gb, deleted),
  KEY deploy_key_idx (deploy_key)
) DEFAULT CHARSET=latin1;
CREATE TABLE bm_interfaces (
  created_at datetime, updated_at datetime, deleted_at datetime, deleted tinyint(1),
  id int NOT NULL AUTO_INCREMENT PRIMARY KEY,
  bm_node_id int, address varchar(255), datapath_id varchar(255), port_no int, vif_uuid varchar(36),
  UNIQUE KEY address (address),
  UNIQUE KEY vif_uuid (vif_uuid),
  KEY idx_bm_interfaces_bm_node_id_deleted (bm_node_id, deleted)
) DEFAULT CHARSET=latin1;
