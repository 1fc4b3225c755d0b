import "../../lab/on-servers.ts";
import "./commands.test.ts";
