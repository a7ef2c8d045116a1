// An agent in Go: it answers each line with its length.
//
// Try it: go build -o /tmp/length ./agents/examples/go && echo hello | /tmp/length
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	lines := bufio.NewReader(os.Stdin)
	fmt.Println("OK") // ready for the first line
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return // stdin closed: no more work
		}
		if len(line) > 1 {
			fmt.Println("LOG", len(line)-1, "bytes")
		}
		fmt.Println("OK") // done, and ready for the next
	}
}
