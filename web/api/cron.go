package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/scheduler/cron"
)

// Schedule is when a schedule comes around.
type Schedule cron.Explained

func (a *API) cron() {
	type in struct {
		Cron   string `query:"cron"   required:"true" maxLength:"200" example:"30 2 * * *"`
		Zone   string `query:"zone"                   maxLength:"100" example:"Europe/Prague"`
		Number int    `query:"number"                                                         minimum:"1" maximum:"100" default:"5"`
	}
	huma.Register(a, operation(http.MethodGet, "/cron/explain", reader, "workflows", "Explain a schedule, with its next times"),
		func(_ context.Context, in *in) (*body[Schedule], error) {
			s, err := cron.Parse(in.Cron, in.Zone)
			if err != nil {
				return nil, unfit(err.Error())
			}
			return &body[Schedule]{Schedule(s.Explain(time.Now(), in.Number))}, nil
		})
}
