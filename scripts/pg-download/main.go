// Command pg-download gets PostgreSQL's server programs as `bellhop --pg-download` does, for scripts/need-postgres
// on a machine that has none and where none may be installed, and prints the folder that holds them. It gives up
// soon: a user has typed `make demo` and waits.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"bellhop/pgdev"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "pg-download FOLDER LIMIT, such as ~/.cache/bellhop/programs 2m")
		os.Exit(2)
	}
	limit, err := time.ParseDuration(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	b, err := pgdev.Download(ctx, os.Args[1])
	if err != nil {
		// The rest is what else to type: need-postgres says that.
		why, _, _ := strings.Cut(err.Error(), "\n")
		if ctx.Err() != nil {
			why = "download PostgreSQL: " + context.Cause(ctx).Error()
		}
		fmt.Fprintln(os.Stderr, why)
		os.Exit(1)
	}
	fmt.Println(b.Dir)
}
