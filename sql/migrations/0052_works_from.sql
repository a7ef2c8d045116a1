-- Works from: 0051
-- Which binaries may be started on this schema: those whose own schema has at least this version. Each migration says it in
-- its first line, as above; one that does not needs a binary that knows it. It adds at once what newer binaries need (expand), and takes away
-- what older ones use no sooner than one version later (contract).
-- Locks: ACCESS EXCLUSIVE on bellhop.schema_version, for a moment.
alter table bellhop.schema_version add column if not exists works_from integer;
