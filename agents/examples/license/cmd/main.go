// The license agent as a program of its own. `bellhop demo` runs the same
// agent out of bellhop's own binary.
//
// Try it: go build -o /tmp/license ./agents/examples/license/cmd, and name it in
// bellhop.yaml: {type: license, command: [/tmp/license], env: {DATABASE_URL: …}}
package main

import (
	"os"

	"bellhop/agents/examples/license"
)

func main() { os.Exit(license.Main()) }
