import "../../lab/on-servers.ts";
import "./held.test.ts";
