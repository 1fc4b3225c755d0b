import "../../lab/on-servers.ts";
import "./extended.test.ts";
