import "../../lab/on-servers.ts";
import "./old-compute.test.ts";
