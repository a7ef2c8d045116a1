package clienttest

import "encoding/json"

// grant answers what a job asks of locks: it is alone here, and gets all.
func grant(said []byte) []byte {
	var m struct {
		Lock   json.RawMessage `json:"lock"`
		Unlock []string        `json:"unlock"`
	}
	var some struct {
		Any int      `json:"any"`
		Of  []string `json:"of"`
	}
	var locks []string
	_ = json.Unmarshal(said, &m) // it was read before
	if m.Lock == nil {
		answer, _ := json.Marshal(map[string][]string{"unlocked": m.Unlock})
		return append(answer, '\n')
	}
	if json.Unmarshal(m.Lock, &locks) != nil && json.Unmarshal(m.Lock, &some) == nil {
		locks = some.Of[:min(some.Any, len(some.Of))]
	}
	answer, _ := json.Marshal(map[string][]string{"granted": locks})
	return append(answer, '\n')
}
