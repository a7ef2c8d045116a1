package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
)

// Whatever ends it, the terminal is as it was: its modes, its screen, its cursor. What is typed after q is not taken.
func TestLive_LeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	looks := func(context.Context) (topView, error) { return topView{At: time.Now()}, nil }
	fails := func(context.Context) (topView, error) { return topView{}, errors.New("refused") }
	panics := func(context.Context) (topView, error) { panic("a look") }
	waits := func(ctx context.Context) (topView, error) { <-ctx.Done(); return topView{}, ctx.Err() }
	for name, c := range map[string]struct {
		look  func(context.Context) (topView, error)
		types string
		want  string
	}{
		"q":                       {looks, "/b\x7fa\r\x1b[B\x1b[5~jq", ""},
		"^C":                      {looks, "/q\x03", ""},
		"q while a look waits":    {waits, "q", ""},
		"its context":             {looks, "", ""},
		"an error":                {fails, "", "refused"},
		"a look that panics":      {panics, "", "panic: a look"},
		"a terminal that is gone": {looks, "gone", "input/output error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen, program := clitest.Terminal(t, 80)
			was, err := term.GetState(int(program.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			read := make(chan string)
			go func() { read <- follow(screen, c.types, cancel) }()
			a := &cli.App{Stdin: program, Stdout: program, Getenv: func(string) string { return "" }}
			said := ""
			func() {
				defer func() {
					if p, is := recover().(string); is {
						said = "panic: " + p
					}
				}()
				if err := live(ctx, a, program, time.Millisecond, c.look); err != nil {
					said = err.Error()
				}
			}()
			if c.want == "" && said != "" || !strings.Contains(said, c.want) {
				t.Errorf("it ends with %q", said)
			}
			if c.types == "gone" {
				<-read
				return
			}
			if is, err := term.GetState(int(program.Fd())); err != nil || !reflect.DeepEqual(is, was) {
				t.Errorf("its modes are %v, not %v (%v)", is, was, err)
			}
			program.Close()
			_, _ = io.WriteString(screen, "\n") // for a read that has not ended, and keeps it open
			text := strings.TrimSuffix(<-read, "\r\n")
			if !strings.HasPrefix(text, "\x1b[?1049h\x1b[?25l") || !strings.HasSuffix(text, "\x1b[?25h\x1b[?1049l") {
				t.Errorf("it begins with %.20q and ends with %q", text, text[max(0, len(text)-20):])
			}
		})
	}
}

// follow reads a terminal to its end. Once something is drawn it types, or ends the program where nothing is typed.
func follow(screen io.ReadWriteCloser, types string, end func()) string {
	var text strings.Builder
	b := make([]byte, 4096)
	for begun := false; ; {
		n, err := screen.Read(b)
		text.Write(b[:n])
		if err != nil {
			return text.String()
		}
		if begun || !strings.Contains(text.String(), "\x1b[1;1H") {
			continue
		}
		switch begun = true; types {
		case "":
			time.AfterFunc(50*time.Millisecond, end)
		case "gone":
			screen.Close()
		default:
			_, _ = io.WriteString(screen, types)
		}
	}
}

// Lines are as wide as the terminal is now; only those that change are written again.
func TestLive_DrawsWhatHasChanged(t *testing.T) {
	t.Parallel()
	screen, program := clitest.Terminal(t, 80)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		a := &cli.App{Stdin: program, Stdout: program, Getenv: func(string) string { return "1" }} // NO_COLOR
		ended <- live(ctx, a, program, time.Hour, func(context.Context) (topView, error) { return busyView(), nil })
		program.Close()
		_, _ = io.WriteString(screen, "\n") // for a read that has not ended: then until does not wait for ever
	}()
	lines := len(busyView().frame(0, 0))
	b, text := make([]byte, 4096), ""
	until := func(want string) {
		t.Helper()
		for text = ""; !strings.Contains(text, want); {
			n, err := screen.Read(b)
			if text += string(b[:n]); err != nil {
				t.Fatalf("no %q in %q: %v", want, text, err)
			}
		}
	}
	until(fmt.Sprintf("\x1b[24;1H\x1b[K%d more · q quit · ↑↓ scroll · / filter · p pause", lines-23))
	if strings.Contains(text, "\x1b[36m") {
		t.Errorf("coloured: %q", text)
	}
	if _, err := io.WriteString(screen, "p"); err != nil {
		t.Fatal(err)
	}
	until("PAUSED")
	if strings.Contains(text, "HOST") {
		t.Errorf("all is drawn again: %q", text)
	}
	size := &unix.Winsize{Row: 4, Col: 30}
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
	until(fmt.Sprintf("\x1b[4;1H\x1b[K%d more · PAUSED · p goes on …", lines-3))
	if !strings.Contains(text, "\x1b[2J\x1b[1;1H\x1b[Kbellhop 03:04  running 2  rea…") {
		t.Errorf("narrow: %q", text)
	}
	if _, err := io.WriteString(screen, "q"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
