"""Jobs that clusters run in place of this host."""

import sqlite3

from state import rows
from state.records.jobs import Job


def cluster_jobs(connection: sqlite3.Connection) -> list[Job]:
    """Jobs that were handed to a cluster and have not ended, the oldest first."""
    sql = """SELECT * FROM job WHERE backend <> 'local' AND state IN ('starting', 'running', 'stopping') ORDER BY id"""
    return rows.read(connection, Job, sql)


def write_backend_id(connection: sqlite3.Connection, job_id: int, backend_id: str) -> bool:
    """Record a job's id on its cluster; `False` where that very id is known already."""
    sql = "UPDATE job SET backend_id = ? WHERE id = ? AND backend_id IS NOT ?"
    return connection.execute(sql, [backend_id, job_id, backend_id]).rowcount == 1


def write_cluster_reason(connection: sqlite3.Connection, job_id: int, reason: str | None) -> None:
    """Say why a job on a cluster does not run yet, or that the cluster does not answer."""
    sql = "UPDATE job SET reason = ? WHERE id = ? AND state IN ('starting', 'running', 'stopping')"
    connection.execute(sql, [reason, job_id])
