import "../../lab/on-servers.ts";
import "./by-node.test.ts";
