// Command tally reads `go test -json` on stdin, prints a line a package, what
// failed or did not end with its output, why what was skipped was, and ends with
// the count.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	ImportPath                    string
	Elapsed                       float64
}

func main() {
	output := map[string][]string{} // by package and test
	running := map[string]bool{}
	var passed, failed, skipped int
	var failures, skips []string
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text())
			continue
		}
		name := e.Package + " " + e.Test
		switch e.Action {
		case "run":
			running[name] = true
		case "output":
			output[name] = append(output[name], e.Output)
		case "build-output":
			fmt.Print(e.Output)
		case "pass", "fail", "skip":
			if e.Test == "" {
				fmt.Printf("%-4s %-40s %6.1fs\n", e.Action, e.Package, e.Elapsed)
				if e.Action == "fail" {
					failures = append(failures, name)
				}
				continue
			}
			delete(running, name)
			switch e.Action {
			case "pass":
				passed++
				delete(output, name)
			case "fail":
				failed++
				failures = append(failures, name)
			case "skip":
				skipped++
				skips = append(skips, name)
			}
		}
	}
	sort.Strings(skips)
	for _, name := range failures {
		fmt.Printf("\n--- %s\n%s", name, strings.Join(output[name], ""))
	}
	// A package that is ended from outside fails, and its tests do not.
	for _, name := range slices.Sorted(maps.Keys(running)) {
		fmt.Printf("\nNOT ENDED %s\n%s", name, strings.Join(output[name], ""))
	}
	for _, name := range skips {
		fmt.Printf("\nSKIPPED %s\n%s", name, strings.Join(output[name], ""))
	}
	fmt.Printf("\n%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || len(failures) > 0 || passed == 0 || in.Err() != nil {
		os.Exit(1)
	}
}
