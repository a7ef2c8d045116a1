package store

import (
	"context"

	"bellhop/scheduler"
	"bellhop/sql"
)

var uncleanedSQL, cleanedSQL = sql.Query("uncleaned"), sql.Query("cleaned")

// Files is the files of a job that has succeeded, to be deleted by the host that ran it.
type Files struct {
	Job     scheduler.JobID
	Files   []string
	Trouble string // why they could not be deleted before; empty: not tried yet
}

// Cleaner knows whose files are still to be deleted.
type Cleaner struct{ conn *connection }

// NewCleaner returns a session for clean-ups; it connects at its first use.
func NewCleaner(url string) (*Cleaner, error) {
	conn, err := newConnection(url, "duster", nil)
	return &Cleaner{conn: conn}, err
}

// Close ends the session's connection.
func (d *Cleaner) Close() { d.conn.close() }

// Uncleaned gives at most so many of the jobs whose files a host is to delete now.
// Until Dusted says that it has, it gives them again.
func (d *Cleaner) Uncleaned(ctx context.Context, host string, most int) ([]Files, error) {
	return rowsOf[Files](ctx, d.conn, "look for files to delete", uncleanedSQL, host, most)
}

// Cleaned tells what has become of them.
func (d *Cleaner) Cleaned(ctx context.Context, list []Files) error {
	jobs, troubles := make([]int64, len(list)), make([]string, len(list))
	for i, one := range list {
		jobs[i], troubles[i] = int64(one.Job), text(one.Trouble)
	}
	return d.conn.exec(ctx, "tell which files are deleted", cleanedSQL, jobs, troubles)
}
