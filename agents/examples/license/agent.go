package license

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Main runs the agent on stdin and stdout until stdin ends, on the database
// that DATABASE_URL names. The result is the exit code.
func Main() int {
	if err := run(context.Background(), os.Stdin, os.Stdout, os.Getenv("DATABASE_URL")); err != nil {
		fmt.Fprintln(os.Stderr, "license:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, in io.Reader, out io.Writer, url string) error {
	if url == "" {
		return errors.New("DATABASE_URL is not set: name it under agents[].env in bellhop.yaml")
	}
	ready := make(chan struct{})
	go func() { // takes a while, and so does connecting
		defer close(ready)
		classify(nil)
	}()
	conn, err := connect(ctx, url)
	<-ready
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }() // the server notices either way

	lines := bufio.NewReader(in)
	for {
		if _, err := fmt.Fprintln(out, "OK"); err != nil { // ready for a line; done with the last
			return fmt.Errorf("answer: %w", err)
		}
		line, err := lines.ReadString('\n')
		if err != nil { // stdin closed: no more work
			return nil
		}
		received := time.Now()
		f, err := parse(line[:len(line)-1])
		if err != nil {
			return err
		}
		finding := look(f)
		if finding.failure != "" {
			// What is said to the scheduler is kept against the job.
			_, _ = fmt.Fprintf(out, "ERROR file %d, %s: %s\n", f.id, strconv.Quote(f.path), finding.failure)
		}
		if err := record(ctx, conn, f.id, finding, received); err != nil {
			return fmt.Errorf("record file %d: %w", f.id, err)
		}
	}
}

func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	c.RuntimeParams["application_name"] = "license agent"
	// No prepared statements: a pooler may give each statement another server.
	c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	return pgx.ConnectConfig(ctx, c)
}

// record writes what was found. When the line came is told on the database's
// clock, counted back from now; the way of this statement is in it too.
func record(ctx context.Context, conn *pgx.Conn, id int64, f finding, received time.Time) error {
	_, err := conn.Exec(ctx, `update demo.file
	    set licence = nullif($2, ''), coverage = $3, failure = nullif($4, ''),
	        received_at = clock_timestamp() - make_interval(secs => $5), checked_at = clock_timestamp()
	  where id = $1`, id, f.licence, f.coverage, f.failure, time.Since(received).Seconds())
	return err
}
