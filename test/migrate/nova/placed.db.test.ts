import "../../lab/on-servers.ts";
import "./placed.test.ts";
