import "../lab/on-servers.ts";
import "./alembic.test.ts";
