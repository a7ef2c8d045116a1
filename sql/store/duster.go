package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var dustSQL, dustedSQL = sql.Query("dust"), sql.Query("dusted")

// Dust is the files of a job that has succeeded, to be deleted by the host that ran it.
type Dust struct {
	Job     scheduler.JobID
	Files   []string
	Trouble string // why they could not be deleted before; empty: nobody has tried
}

// Duster knows whose files are still to be deleted.
type Duster struct{ link *link }

// NewDuster returns a desk for clean-ups; it connects at its first use.
func NewDuster(url string) (*Duster, error) {
	l, err := newLink(url, "duster", nil)
	return &Duster{link: l}, err
}

// Close ends the desk's connection.
func (d *Duster) Close() { d.link.close() }

// Dusty gives at most so many of the jobs whose files a host is to delete now.
// Until Dusted says that it has, it gives them again.
func (d *Duster) Dusty(ctx context.Context, host string, most int) (list []Dust, err error) {
	err = d.link.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, dustSQL, host, most)
		if err == nil {
			list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Dust])
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for files to delete: %w", err)
	}
	return list, nil
}

// Dusted tells what has become of them.
func (d *Duster) Dusted(ctx context.Context, list []Dust) error {
	jobs, troubles := make([]int64, len(list)), make([]string, len(list))
	for i, one := range list {
		jobs[i], troubles[i] = int64(one.Job), one.Trouble
	}
	err := d.link.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, dustedSQL, jobs, troubles)
		return err
	})
	if err != nil {
		return fmt.Errorf("tell which files are deleted: %w", err)
	}
	return nil
}
