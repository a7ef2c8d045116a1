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
	"slices"
	"strings"
	"syscall"
)

// guard is one entry of the table.
type guard struct {
	name    string // in plain words; unique
	promise string // one sentence: what holds because of the guard
	cut
	tests []string // packages, as the go command takes them
	run   string   // the regular expression of the tests that are expected to notice
}

// cut is a guard's place in the program.
type cut struct {
	text    string // stands exactly once in Go that is no test, or in SQL
	instead string // stands there without the guard
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
	chosen := slices.DeleteFunc(guards(), func(g guard) bool { return !named.MatchString(g.name) })
	faults := slices.DeleteFunc(plantedFaults(), func(p planted) bool { return !named.MatchString(p.name) })
	if list {
		for _, g := range chosen {
			fmt.Printf("%s\n    %s\n", g.name, g.promise)
		}
		for _, p := range faults {
			fmt.Printf("%s\n    torture --fault %s: %s\n", p.name, p.harm, p.shows)
		}
		return nil
	}
	r, err := newRunner(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	var done results
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
		done.noticed = append(done.noticed, got)
		if err := done.write(write, r.commit); err != nil {
			return err
		}
	}
	for _, p := range faults {
		got := r.plant(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Printf("%s: %s\n", p.name, got)
		if got.why != "" {
			bad = append(bad, p.name)
		}
		done.found = append(done.found, got)
		if err := done.write(write, r.commit); err != nil {
			return err
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d of %d: %s", len(bad), len(chosen)+len(faults), strings.Join(bad, "; "))
	}
	return nil
}
