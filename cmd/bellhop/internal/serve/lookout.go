package serve

import (
	"bellhop/config"
	"bellhop/lookout"
	"bellhop/triggers"
)

// newLookout watches what the configuration allows. t nil: failures are not counted.
func newLookout(c config.Config, listenURL string, t *telemetry) *lookout.Lookout {
	l := &lookout.Lookout{Roots: c.Sensors.Files, Clusters: map[string]lookout.Cluster{}}
	if listenURL != "" {
		l.Channels = &triggers.Channels{URL: listenURL}
	}
	if t != nil {
		l.Failed, t.lags = t.metrics.SensorFailed, l.Lags
	}
	for _, k := range c.Sensors.Kafka {
		l.Clusters[k.Name] = lookout.Cluster{
			Servers:  k.Servers,
			TLS:      k.TLS,
			SASL:     k.SASL,
			User:     k.User,
			Password: k.PasswordFile,
		}
	}
	return l
}
