import "../../lab/on-servers.ts";
import "./deleted.test.ts";
