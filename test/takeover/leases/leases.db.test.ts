import "../../lab/on-servers.ts";
import "./leases.test.ts";
