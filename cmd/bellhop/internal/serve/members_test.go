package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
)

// What others than the database do not answer is told as it is.
func TestIsAway_IsSaidByWhoSpeaksWithTheDatabase(t *testing.T) {
	t.Parallel()
	_, dialled := net.Dial("tcp", "127.0.0.1:1") // nobody listens there
	_, opened := os.Open("/nowhere")
	_, connected := pgx.Connect(t.Context(), "postgres://127.0.0.1:1/x")
	for err, want := range map[error]bool{
		fmt.Errorf("send mail: %w", dialled):                         false,
		fmt.Errorf("look: %w", opened):                               false,
		fmt.Errorf("read: %w", io.ErrUnexpectedEOF):                  false,
		context.DeadlineExceeded:                                     false,
		errors.New("it is odd"):                                      false,
		fmt.Errorf("claim: %w", &pgconn.PgError{Code: "23505"}):      false,
		fmt.Errorf("claim: %w", &pgconn.PgError{Code: "57P01"}):      true,
		fmt.Errorf("hear: %w", &scheduler.Unreachable{Err: io.EOF}):  true,
		fmt.Errorf("look what there is to listen to: %w", connected): true,
	} {
		if isAway(err) != want {
			t.Errorf("%v: %v, want %v", err, !want, want)
		}
	}
}
