package doctor

import (
	"context"
	"fmt"
	"strings"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/store"
	"bellhop/sql/view"
)

// checkTurnLogin looks at the login that touches attached tables, where code
// of others runs: it may do nothing else.
func (d *doctor) checkTurnLogin(ctx context.Context, s *cli.Session) error {
	const key = "attach_url"
	if d.config.Database.AttachURL == "" {
		list, err := s.Attachments(ctx)
		if err != nil || len(list) == 0 {
			return err
		}
		var wait []string
		for _, x := range list {
			if x.Trouble != nil && strings.Contains(*x.Trouble, key) {
				wait = append(wait, cli.Clean(x.Name))
			}
		}
		if len(wait) == 0 {
			d.ok(key, fmt.Sprintf("not set, and %d attached tables do not need it", len(list)))
			return nil
		}
		d.mend(key, "no login for turns at attached tables can connect; these wait for one: "+strings.Join(wait, ", "),
			d.psql(`\password `+store.AttachRole)+"   # then database."+key+" in bellhop.yaml: postgres://"+store.AttachRole+":…@…")
		return nil
	}
	fix := "fix database." + key + " in bellhop.yaml"
	conn, err := d.Dial(ctx, cli.Database{URL: d.config.Database.AttachURL, From: "database." + key}, nil)
	if err != nil {
		d.mend(key, err.Error(), fix)
		return nil
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it is not needed any more
	through, err := cli.Pooled(ctx, conn)
	if err != nil {
		return err
	}
	login, err := view.NewLook(conn).Login(ctx)
	if err != nil {
		return err
	}
	turns, err := s.Turns(ctx, login.Login)
	switch {
	case err != nil:
		return err
	case through:
		d.mend(key, "it leads through a pooler: code of others could leave something in a session for the next one",
			"set database."+key+" in bellhop.yaml to the server itself")
	case !turns.Apart:
		d.mend(key, login.Login+" may do more than take turns at attached tables, and code of others would",
			"set database."+key+" in bellhop.yaml to "+store.AttachRole+", which is granted nothing else")
	case !turns.May:
		d.mend(key, login.Login+" may take no turns at attached tables",
			d.psql("grant "+store.AttachRole+" to "+cli.Quoted(login.Login)))
	default:
		d.ok(key, login.Login+" takes turns at attached tables, and may do nothing else")
	}
	return nil
}
