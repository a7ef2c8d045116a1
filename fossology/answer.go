package fossology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// mostJobs bounds what status lists: the front end makes a menu of it.
const mostJobs = 1000

const (
	received = "received\n"
	end      = "end\n"
)

// answer does what a command asks for, and gives what is said to it, and
// whether that was the last word. The front end stops reading at `received`
// unless a list follows: so it comes last, behind what went wrong, and what the
// command did is to be seen by then.
func (s *Server) answer(ctx context.Context, c command) (text string, last bool) {
	var err error
	switch c.word {
	case "close", "exit", "stop", "die":
		return received + "CLOSE\n", true
	case "agents":
		return received + strings.Join(s.options.Agents, " ") + " \n" + end, false
	case "load", "status":
		if text, err = s.list(ctx, c); err != nil {
			text = "ERROR: " + err.Error() + "\n"
		}
		return received + text + end, false
	case "verbose":
		if c.n == 0 {
			return "level: 0\n" + received, false
		}
		err = errors.New("how much agents say is set in bellhop.yaml (agents[].verbose)")
	case "reload":
		err = errors.New("bellhop reload reads bellhop.yaml again, on the machine of the instance")
	case "database":
		err = s.options.Desk.Look(ctx)
	default:
		err = s.change(ctx, c)
	}
	if err != nil {
		text = "ERROR: " + strings.ReplaceAll(err.Error(), "\n", " ") + "\n"
	}
	return text + received, false
}

// killedBy is how the front end's message begins.
var killedBy = regexp.MustCompile(`(?i)^killed by\s+`)

// change does what is for one job.
func (s *Server) change(ctx context.Context, c command) error {
	desk := s.options.Desk
	needs := 1
	if c.word == "priority" {
		needs = 2
	}
	if c.n < needs || c.word == "kill" && c.text == "" {
		return fmt.Errorf("invalid %s command: it is %s", c.word,
			map[string]string{"kill": `kill JOB "MESSAGE"`, "pause": "pause JOB", "restart": "restart JOB", "priority": "priority JOB LEVEL"}[c.word])
	}
	switch c.word {
	case "kill":
		_, err := desk.Kill(ctx, c.job, killedBy.ReplaceAllString(c.text, "")) // of a job that is over nothing is changed
		return of(c.job, err)
	case "pause":
		now, err := desk.Hold(ctx, c.job)
		if err == nil && now != "held" {
			err = fmt.Errorf("job %d is %s: only what has not started can be paused; a process is not stopped half way", c.job,
				now)
		}
		return of(c.job, err)
	case "restart":
		was, err := desk.Release(ctx, c.job)
		if err == nil && was != "held" {
			err = fmt.Errorf("attempt to restart job %d failed, job status was %s", c.job, was)
		}
		return of(c.job, err)
	}
	return of(c.job, desk.Prioritize(ctx, c.job, max(-20, min(c.level, 19))))
}

func of(job int64, err error) error {
	if errors.Is(err, ErrNoJob) {
		return fmt.Errorf("invalid job id = %d", job)
	}
	return err
}

func (s *Server) list(ctx context.Context, c command) (text string, err error) {
	if c.word == "load" {
		hosts, err := s.options.Desk.Hosts(ctx)
		for _, h := range hosts {
			text += h.line()
		}
		return text + "\n", err
	}
	jobs, err := s.options.Desk.Jobs(ctx, c.job, mostJobs)
	if err != nil {
		return "", of(c.job, err)
	}
	var b strings.Builder
	if c.job == 0 {
		fmt.Fprintf(&b, "scheduler:%d revision:%s daemon:1 jobs:%d log:stderr port:%d verbose:0\n",
			os.Getpid(), s.options.Revision, len(jobs), s.port())
	}
	for _, j := range jobs {
		b.WriteString(j.line())
		if c.job != 0 && j.Host != "" {
			fmt.Fprintf(&b, "agent:%d host:%s type:%s status:AGENT_RUNNING time:(none)\n", j.ID, j.Host, j.Type)
		}
	}
	return b.String(), nil
}
