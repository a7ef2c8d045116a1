package locks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/lock"
)

// jobLine is a job of a workload, as its line says it.
type jobLine struct {
	At       float64  `json:"at"` // seconds
	Type     string   `json:"type"`
	Locks    []string `json:"locks"`
	Asks     []string `json:"asks,omitempty"`
	Priority int      `json:"priority"`
	Takes    float64  `json:"takes"` // seconds
	Share    string   `json:"share,omitempty"`
	Weight   float64  `json:"weight,omitempty"` // of the share; 0: 1, or what an earlier line says
}

// weights are those of the keys of shares, by type.
type weights map[string]map[string]float64

// note records what a line says of its key's weight.
func (w weights) note(l jobLine) error {
	before := w[l.Type][l.Share]
	switch {
	case l.Weight == 0:
		return nil
	case l.Share == "":
		return errors.New(`"weight" is that of a "share", and there is none`)
	case !(l.Weight >= 0.001 && l.Weight <= 1000):
		return fmt.Errorf("weight %v is not from 0.001 to 1000", l.Weight)
	case before != 0 && before != l.Weight:
		return fmt.Errorf("share %s of type %s has weight %v, and an earlier line says %v", l.Share, l.Type, l.Weight, before)
	case w[l.Type] == nil:
		w[l.Type] = map[string]float64{}
	}
	w[l.Type][l.Share] = l.Weight
	return nil
}

// longestLine of a workload: a job may have some ten thousand locks.
const longestLine = 8 << 20

// readWorkload reads a job from each line that is not empty. Levels are those that
// are configured, or, where none are, Ganeti's and those that jobs name.
func readWorkload(in io.Reader, configured lock.Levels) (
	jobs []lock.Arrival, levels lock.Levels, of weights, err error,
) {
	of, levels = weights{}, slices.Clone(configured)
	if len(configured) == 0 {
		levels = slices.Clone(lock.GanetiLevels)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), longestLine)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		j, err := readJob(lines.Text(), &levels, len(configured) == 0, of)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("line %d: %w", n, err)
		}
		jobs = append(jobs, j)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, nil, nil, fmt.Errorf("a line has more than %d bytes", longestLine)
	} else if err != nil {
		return nil, nil, nil, err
	}
	if len(jobs) == 0 {
		return nil, nil, nil, errors.New("there is no job in it")
	}
	return jobs, levels, of, nil
}

func readJob(text string, levels *lock.Levels, grow bool, of weights) (lock.Arrival, error) {
	var l jobLine
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return lock.Arrival{}, fmt.Errorf("not a valid job: %w", err)
	}
	const tenYears = 10 * 366 * 24 * 3600
	switch {
	case d.More():
		return lock.Arrival{}, errors.New("something follows the job: one object a line")
	case !(l.At >= 0 && l.At <= tenYears) || !(l.Takes >= 0 && l.Takes <= tenYears):
		return lock.Arrival{}, errors.New(`"at" and "takes" are seconds, from 0 to ten years`)
	case utf8.RuneCountInString(l.Share) > lock.MaxShare:
		return lock.Arrival{}, fmt.Errorf("the share has more than %d characters", lock.MaxShare)
	case l.Priority < lock.BestPriority || l.Priority > 19:
		return lock.Arrival{}, fmt.Errorf("priority %d is not from -20 to 19", l.Priority)
	}
	if err := of.note(l); err != nil {
		return lock.Arrival{}, err
	}
	known, err := readTexts(l.Locks, levels, grow)
	if err != nil {
		return lock.Arrival{}, err
	}
	asks, err := readTexts(l.Asks, levels, grow)
	return lock.Arrival{At: exact(l.At), Type: l.Type, Share: l.Share, Locks: known, Asks: asks, Priority: l.Priority,
		Takes: exact(l.Takes)}, err
}

// exact is seconds to the microsecond, so that 0.1 and 0.2 are 0.3.
func exact(s float64) time.Duration {
	return time.Duration(math.Round(s*1e6)) * time.Microsecond
}

// readTexts reads locks; where levels may grow, by the levels of these.
func readTexts(texts []string, levels *lock.Levels, grow bool) (lock.Set, error) {
	for _, text := range texts {
		if !grow {
			break
		}
		if w, err := lock.Parse(text); err != nil {
			return lock.Set{}, err
		} else if !w.Big && !slices.Contains(*levels, w.Level) {
			*levels = append(*levels, w.Level)
		}
	}
	return lock.ParseAll(texts, *levels)
}

// writeWorkload writes jobs as readWorkload reads them.
func writeWorkload(out io.Writer, jobs []lock.Arrival, of weights) error {
	w := bufio.NewWriter(out)
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	for _, j := range jobs {
		l := jobLine{At: j.At.Seconds(), Type: j.Type, Locks: j.Locks.Text(), Asks: j.Asks.Text(),
			Priority: j.Priority, Takes: j.Takes.Seconds(), Share: j.Share, Weight: of[j.Type][j.Share]}
		line.Reset()
		if err := e.Encode(l); err != nil {
			return err
		}
		if _, err := w.WriteString(cli.Escaped(line.Bytes())); err != nil {
			return err
		}
	}
	return w.Flush()
}
