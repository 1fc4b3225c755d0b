import "../../lab/on-servers.ts";
import "./locks.test.ts";
