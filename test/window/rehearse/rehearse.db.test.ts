import "../../lab/on-servers.ts";
import "./rehearse.test.ts";
