import "../../lab/on-servers.ts";
import "./nova.test.ts";
