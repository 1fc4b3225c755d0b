import "../../lab/on-servers.ts";
import "./preview.test.ts";
