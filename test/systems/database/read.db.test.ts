import "../../lab/on-servers.ts";
import "./read.test.ts";
