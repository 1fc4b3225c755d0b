import "../../lab/on-servers.ts";
import "./retire.test.ts";
