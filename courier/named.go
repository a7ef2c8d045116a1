package courier

import (
	"encoding/json"
	"net/url"

	"bellhop/scheduler/notice"
)

// named is a target as the log may have it. The path of a webhook is often all that its receiver asks for, and a
// command has arguments: each may be a secret, which the database shows to operators alone.
func named(channel notice.Channel, target string) string {
	switch channel {
	case notice.Webhook:
		if u, err := url.Parse(target); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host
		}
		return "an invalid URL"
	case notice.Command:
		var argv []string
		if json.Unmarshal([]byte(target), &argv) == nil && len(argv) > 0 {
			return argv[0]
		}
		return "an invalid command"
	}
	return target
}
