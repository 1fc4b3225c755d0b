import "../../lab/on-servers.ts";
import "./deleted-flavors.test.ts";
