package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// Ref is a remote job as commands are told of it: a line of its tag and, where it is known, the engine's name of it.
type Ref struct{ Tag, ID string }

// Line is the line.
func (r Ref) Line() string {
	if r.ID == "" {
		return r.Tag + "\n"
	}
	return r.Tag + " " + r.ID + "\n"
}

// Finds reads the output of find: `TAG [ID]` a line. Lines of other tags have no owner here. The error tells of the
// first line of another form.
func Finds(out string) (ids map[string]string, err error) {
	ids = map[string]string{}
	err = lines(out, func(tag, rest string) error {
		ids[tag] = rest
		return nil
	})
	return ids, err
}

// Poll is what poll says of one tag.
type Poll struct {
	Stage    Stage
	ExitCode int
	Said     string
}

// Polls reads what poll has said: `TAG STATE [EXIT] [TEXT]` a line.
func Polls(out string) (of map[string]Poll, err error) {
	of = map[string]Poll{}
	err = lines(out, func(tag, rest string) error {
		word, rest, _ := strings.Cut(rest, " ")
		p := Poll{Said: strings.TrimSpace(rest)}
		switch word {
		case "pending":
			p.Stage = Pending
		case "running":
			p.Stage = Started
		case "succeeded":
			p.Stage = Succeeded
		case "failed":
			p.Stage = Failed
		default:
			return fmt.Errorf("%q is none of pending, running, succeeded, failed", clip(word))
		}
		number, said, _ := strings.Cut(p.Said, " ")
		if n, err := strconv.Atoi(number); err == nil && n >= 0 && n <= 255 && p.Stage >= Succeeded {
			p.ExitCode, p.Said = n, strings.TrimSpace(said)
		}
		of[tag] = p
		return nil
	})
	return of, err
}

// lines goes through lines that begin with a tag.
func lines(out string, each func(tag, rest string) error) (first error) {
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n \t")
		if line == "" {
			continue
		}
		tag, rest, _ := strings.Cut(line, " ")
		err := fmt.Errorf("%q does not begin with a tag", clip(line))
		if strings.HasPrefix(tag, "bellhop-") {
			err = each(tag, strings.TrimSpace(rest))
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
