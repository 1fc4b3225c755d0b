import "../../lab/on-servers.ts";
import "./in-order.test.ts";
