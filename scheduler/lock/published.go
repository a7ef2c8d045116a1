package lock

import (
	"encoding/json"
	"fmt"
	"time"
)

// published is a policy as an instance shows it to others: under the names of the configuration.
type published struct {
	Order        Order  `json:"order"`
	Tick         string `json:"tick"`
	AgeingTicks  int    `json:"ageing_ticks"`
	PriorityTick string `json:"priority_tick"`
	Levels       Levels `json:"levels,omitempty"` // none: any
}

// JSON is the policy as an instance publishes it, so that others foretell by the
// one that is obeyed, wherever they run.
func (p Policy) JSON() ([]byte, error) {
	return json.Marshal(published{p.Order, p.Constants.Tick.String(), p.Constants.AgeingTicks,
		p.Constants.PriorityTick.String(), p.Levels})
}

// ReadPolicy reads what JSON wrote. What a newer version says besides is not known here.
func ReadPolicy(text []byte) (Policy, error) {
	var from published
	if err := json.Unmarshal(text, &from); err != nil {
		return Policy{}, fmt.Errorf("read a policy: %w", err)
	}
	p := AnyLevel
	p.Order, p.Constants.AgeingTicks, p.Levels = from.Order, from.AgeingTicks, from.Levels
	spans := map[*time.Duration]string{&p.Constants.Tick: from.Tick, &p.Constants.PriorityTick: from.PriorityTick}
	for to, span := range spans {
		d, err := time.ParseDuration(span)
		if err != nil {
			return Policy{}, fmt.Errorf("read a policy: %w", err)
		}
		*to = d
	}
	return p, nil
}
