import "../../lab/on-servers.ts";
import "./hosts.test.ts";
