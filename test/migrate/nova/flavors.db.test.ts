import "../../lab/on-servers.ts";
import "./flavors.test.ts";
