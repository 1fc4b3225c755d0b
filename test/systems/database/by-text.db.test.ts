import "../../lab/on-servers.ts";
import "./by-text.test.ts";
