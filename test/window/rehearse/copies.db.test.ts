import "../../lab/on-servers.ts";
import "./copies.test.ts";
