import "../../lab/on-servers.ts";
import "./keyed.test.ts";
