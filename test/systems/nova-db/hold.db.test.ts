import "../../lab/on-servers.ts";
import "./hold.test.ts";
