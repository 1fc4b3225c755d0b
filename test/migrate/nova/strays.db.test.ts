import "../../lab/on-servers.ts";
import "./strays.test.ts";
