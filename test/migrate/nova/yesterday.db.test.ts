import "../../lab/on-servers.ts";
import "./yesterday.test.ts";
