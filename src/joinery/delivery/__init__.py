"""When and whether documents go out: outlets, holds, spool, lease, retries. Knows no target."""
