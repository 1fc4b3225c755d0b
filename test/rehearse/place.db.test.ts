import "../lab/on-servers.ts";
import "./place.test.ts";
