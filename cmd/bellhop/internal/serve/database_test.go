package serve

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// A first look whose session was ended for silence is tried again, a few times; any other error is told at once.
func TestLooked_AgainWhereTheSessionWasEnded(t *testing.T) {
	t.Parallel()
	silent := fmt.Errorf("look: %w", &pgconn.PgError{Code: "57P05"})
	denied := &pgconn.PgError{Code: "42501"}
	for name, c := range map[string]struct {
		answers []error // the last one comes again and again
		want    error
		tries   int
	}{
		"well":                    {[]error{nil}, nil, 1},
		"silent twice":            {[]error{silent, silent, nil}, nil, 3},
		"silent again and again":  {[]error{silent}, silent, looks},
		"denied":                  {[]error{denied}, denied, 1},
		"silent once, and denied": {[]error{silent, denied}, denied, 2},
	} {
		tries := 0
		err := looked(func() error {
			tries++
			return c.answers[min(tries, len(c.answers))-1]
		})
		if !errors.Is(err, c.want) || tries != c.tries {
			t.Errorf("%s: %v after %d tries", name, err, tries)
		}
	}
}
