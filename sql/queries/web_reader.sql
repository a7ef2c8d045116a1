-- Whether the caller may see the jobs of others. Reads catalogs only.
select bellhop.is_reader()
