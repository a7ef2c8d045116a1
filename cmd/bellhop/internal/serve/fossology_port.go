package serve

import (
	"context"
	"errors"
	"log/slog"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/fossology"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// frontSession is the store's session as the port knows it.
type frontSession struct{ *store.Front }

// known is the port's word for an error of the store's.
func known(err error) error {
	if errors.Is(err, store.ErrNoJob) {
		return fossology.ErrNoJob
	}
	return err
}

func (d frontSession) Kill(ctx context.Context, job int64, who string) (string, error) {
	was, err := d.Front.Kill(ctx, job, who)
	return was, known(err)
}

func (d frontSession) Hold(ctx context.Context, job int64) (string, error) {
	now, err := d.Front.Hold(ctx, job)
	return now, known(err)
}

func (d frontSession) Release(ctx context.Context, job int64) (string, error) {
	was, err := d.Front.Release(ctx, job)
	return was, known(err)
}

func (d frontSession) Prioritize(ctx context.Context, job int64, level int) error {
	return known(d.Front.Prioritize(ctx, job, level))
}

func (d frontSession) Jobs(ctx context.Context, job int64, most int) (list []fossology.Job, err error) {
	jobs, err := d.Front.Jobs(ctx, job, most)
	for _, j := range jobs {
		list = append(list, fossology.Job(j))
	}
	return list, known(err)
}

func (d frontSession) Hosts(ctx context.Context) (list []fossology.Host, err error) {
	hosts, err := d.Front.Hosts(ctx)
	for _, h := range hosts {
		list = append(list, fossology.Host(h))
	}
	return list, err
}

// answerFrontEnd answers FOSSology's front end, where that is configured. The
// scheduler does its work without it too: a port that is taken is said, no more.
func answerFrontEnd(c config.Config, url string, stop func(scheduler.Stop), log *slog.Logger) (closePort func()) {
	if c.FrontEnd.Listen == "" {
		return func() {}
	}
	desk, err := store.NewFront(url)
	if err != nil {
		log.Warn("FOSSology's front end is not answered", "error", err)
		return func() {}
	}
	var types []string
	for _, a := range c.Agents {
		types = append(types, string(a.Type))
	}
	s, err := fossology.Listen(c.FrontEnd.Listen,
		fossology.Options{Desk: frontSession{desk}, Agents: types, Revision: cli.Version(), Log: log,
			Stop: func(now bool) {
				how := scheduler.StopFinish
				if now {
					how = scheduler.StopNow
				}
				stop(how)
			}})
	if err != nil {
		desk.Close()
		log.Warn("FOSSology's front end is not answered: it cannot cancel, pause or say that there is work", "error", err, "next", "another fossology.listen")
		return func() {}
	}
	log.Info("FOSSology's front end is answered", "address", s.Address().String())
	return func() {
		s.Close()
		desk.Close()
	}
}
