import "../../lab/on-servers.ts";
import "./spelling.test.ts";
