import "../../lab/on-servers.ts";
import "./one-list.test.ts";
