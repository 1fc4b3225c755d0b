import "../../lab/on-servers.ts";
import "./shared.test.ts";
