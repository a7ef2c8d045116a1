package doctor

import (
	"context"
	"fmt"
	"strings"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
)

// checkFOSSology looks at what FOSSology's front end needs besides the queue,
// where it has its names here or an agent of its own.
func (d *doctor) checkFOSSology(ctx context.Context, s *cli.Session) error {
	f, err := s.FrontNames(ctx)
	if err != nil {
		return err
	}
	var exclusive []string
	for _, a := range d.config.Agents {
		if a.Dialect == config.DialectFOSSology && a.FOSSology.Exclusive {
			exclusive = append(exclusive, string(a.Type))
		}
	}
	if f.Instances > 1 && len(exclusive) > 0 {
		d.note(
			"exclusive",
			fmt.Sprintf("%d instances live: while %s runs on one of them, the others go on", f.Instances,
				strings.Join(exclusive, ", ")),
			"run one instance, or name such agents in the configuration of one only, and stop the others while they run",
		)
	}
	if !f.Named {
		return nil
	}
	for _, login := range f.Blind {
		d.mend("fossology", login+" may not read public.job: each row that it inserts with a jq_job_fk is refused",
			d.psql("grant usage on schema public to "+cli.Quoted(login), "grant select on public.job to "+cli.Quoted(login)))
	}
	switch {
	case d.config.FrontEnd.Listen == "":
		d.note("fossology", "the front end's names are in place, and its port is not answered: the front end cannot cancel, pause or restart",
			"in bellhop.yaml: fossology: {listen: \"127.0.0.1:24693\"}")
	case len(f.Blind) == 0:
		d.ok("fossology", "the front end's names are in place; its port is "+d.config.FrontEnd.Listen)
	}
	return nil
}
