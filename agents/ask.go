package agents

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bellhop/scheduler"
)

// Database is one agent's own session, for what it says with DB:. It is used
// by one goroutine at a time.
type Database interface {
	// Ask runs one statement and hands over its rows as they come. It stops
	// at the first error of row, and returns it.
	Ask(ctx context.Context, statement string, row func([]scheduler.Column) error) error
	Close()
}

// Answers bounds what an agent gets for one DB:.
type Answers struct {
	Timeout time.Duration // of the statement, and of reading its rows; 0: a minute
	Rows    int           // 0: any number
	Bytes   int           // 0: any
}

// maxAsks bounds the statements that an agent may have waiting. It has to read
// the answer to one to know what to ask next.
const maxAsks = 100

var errAnswerTooLong = errors.New("answer too long")

// queueAsk notes what the agent asks of the database.
func (p *Process) queueAsk(statement string) {
	p.mu.Lock()
	full := len(p.asks) >= maxAsks
	if !full {
		p.asks = append(p.asks, statement)
	}
	p.mu.Unlock()
	if full {
		p.breakOff(scheduler.Account{Reason: fmt.Sprintf("the agent said DB: %d times without reading the answers", maxAsks)})
	}
}

// proceedAsks starts the next statement. While one is being answered no line is
// written, since both go to the agent's stdin. mu is held.
func (p *Process) proceedAsks() {
	p.reply()
	if len(p.asks) == 0 || p.asking || p.writing || p.deaf || p.closing {
		return
	}
	p.asking = true
	statement := p.asks[0]
	p.asks = p.asks[1:]
	if p.database == nil {
		p.database = p.launcher.database()
	}
	ctx, stop := context.WithTimeout(context.Background(), p.launcher.answers.Timeout)
	p.stopAsk = stop
	p.g.readers.Add(1)
	go p.ask(ctx, statement)
}

// ask answers one DB:, row by row. Whatever is slow about it, the statement or
// the agent that reads, only this agent waits.
func (p *Process) ask(ctx context.Context, statement string) {
	defer p.g.readers.Done()
	deadline, _ := ctx.Deadline()
	_ = p.g.stdin.SetWriteDeadline(deadline)
	out := bufio.NewWriterSize(tappedWriter{p.g.stdin, p.launcher}, 16<<10)
	limit, rows, bytes := p.launcher.answers, 0, 0
	var unread error // the agent does not take it
	err := p.database.Ask(ctx, statement, func(columns []scheduler.Column) error {
		line := scheduler.Pairs(columns)
		rows, bytes = rows+1, bytes+len(line)+1
		if limit.Rows > 0 && rows > limit.Rows || limit.Bytes > 0 && bytes > limit.Bytes {
			return errAnswerTooLong
		}
		if _, unread = out.WriteString(line); unread == nil {
			unread = out.WriteByte('\n')
		}
		return unread
	})
	if errors.Is(err, errAnswerTooLong) {
		err = fmt.Errorf("db_limit: more than %d rows or %d bytes (limits.db_rows, limits.db_bytes)", limit.Rows, limit.Bytes)
	} else if err != nil && ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("db_timeout: not done within %s (limits.db_timeout)", limit.Timeout)
		_ = p.g.stdin.SetWriteDeadline(time.Now().Add(10 * time.Second)) // to be told so
	}
	if unread == nil && err != nil && ctx.Err() != context.Canceled {
		p.note(scheduler.LevelError, []byte("DB: "+err.Error()), false)
		_, unread = fmt.Fprintf(out, "ERROR %s\n", oneLine(err.Error()))
	}
	if unread == nil {
		_, unread = out.WriteString("OK\n")
	}
	if unread == nil {
		unread = out.Flush()
	}
	_ = p.g.stdin.SetWriteDeadline(time.Time{})
	p.answeredAsk(unread)
}

// answeredAsk goes on with what waited for the answer. An agent that did not
// read it within its time has half a row, and cannot be told anything any more.
func (p *Process) answeredAsk(unread error) {
	p.mu.Lock()
	defer p.release()
	p.stopAsk()
	p.asking = false
	if errors.Is(unread, os.ErrDeadlineExceeded) {
		p.deaf = true
		p.outputClosed(
			scheduler.Account{
				Reason: "the agent did not read the answer to its DB: within " + p.launcher.answers.Timeout.String(),
			},
		)
	}
	p.proceedAsks()
	p.write()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// endAsks: the agent is dead, or is to be.
func (p *Process) endAsks() {
	if p.stopAsk != nil {
		p.stopAsk()
	}
}
