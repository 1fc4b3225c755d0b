import "../../lab/on-servers.ts";
import "./way.test.ts";
