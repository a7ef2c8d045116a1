package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// consume is a classic agent that does what agents of MSQ jobs usually do:
// each item names a row (id="…") of the table work, which it marks.
func consume(url string) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer conn.Close(ctx)
	fmt.Println("OK")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		id, found := strings.CutPrefix(strings.TrimSuffix(in.Text(), `"`), `id="`)
		if !found {
			fmt.Fprintln(os.Stderr, "not an item:", in.Text())
			os.Exit(2)
		}
		if _, err := conn.Exec(ctx, "update work set done = done + 1 where id = $1::text::int", id); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		fmt.Println("OK")
	}
}
