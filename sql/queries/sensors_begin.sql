-- Whether this instance, $1, starts workflows, and whether some have to be given to others first. Index:
-- workflow_instance.
select bellhop.starts_workflows($1), bellhop.unassigned()
