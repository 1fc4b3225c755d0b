import "../../lab/on-servers.ts";
import "./schema.test.ts";
