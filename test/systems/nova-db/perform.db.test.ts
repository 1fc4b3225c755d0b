import "../../lab/on-servers.ts";
import "./perform.test.ts";
