import "../lab/on-servers.ts";
import "./others.test.ts";
