// Command mutate takes the guards of the program out, one at a time, and says which test notices.
//
// Each guard of the table is a text that stands once in the program, and what stands there instead without the guard.
// The tests that are expected to notice run on a copy of the tree: first as it is, then with the guard taken out.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
)

// guard is one entry of the table.
type guard struct {
	name    string   // in plain words; unique
	promise string   // one sentence: what holds because of the guard
	text    string   // stands exactly once in Go that is no test, or in SQL
	instead string   // stands there without the guard
	tests   []string // packages, as the go command takes them
	run     string   // the regular expression of the tests that are expected to notice
}

func main() {
	list := flag.Bool("list", false, "list the guards and run nothing")
	only := flag.String("only", "", "take out only guards whose name matches this regular expression")
	write := flag.Bool("write", false, "write the result to "+page)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mutate(ctx, *only, *list, *write); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func mutate(ctx context.Context, only string, list, write bool) error {
	named, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	var chosen []guard
	for _, g := range guards() {
		if named.MatchString(g.name) {
			chosen = append(chosen, g)
		}
	}
	if list {
		for _, g := range chosen {
			fmt.Printf("%s\n    %s\n", g.name, g.promise)
		}
		return nil
	}
	r, err := newRunner(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	var results []result
	var bad []string
	for _, g := range chosen {
		got := r.takeOut(ctx, g)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Printf("%s: %s\n", g.name, got)
		if got.test == "" {
			bad = append(bad, g.name)
		}
		results = append(results, got)
		if write {
			if err := writePage(results, r.commit); err != nil {
				return err
			}
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d of %d guards: %s", len(bad), len(chosen), strings.Join(bad, "; "))
	}
	return nil
}
