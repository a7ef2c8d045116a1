package cli

import (
	"slices"
	"strings"

	"bellhop/config"
)

// synonyms are words that other programs have for commands of this one.
var synonyms = map[string]string{
	"jobs": "ls", "list": "ls", "queue": "ls",
	"status": "top", "dashboard": "ui", "web": "ui",
	"add": "submit", "enqueue": "submit", "push": "submit", "run": "submit", "schedule": "submit",
	"stop": "cancel", "kill": "cancel", "abort": "cancel", "delete": "cancel", "remove": "cancel", "rm": "cancel",
	"start": "serve", "server": "serve", "daemon": "serve",
	"info": "show", "get": "show", "describe": "show", "why": "explain",
	"purge": "prune", "clean": "prune", "workers": "agents", "upgrade": "migrate",
}

// nearestCommand is the command that was most likely meant.
func nearestCommand(word string, known []string) (string, bool) {
	if meant := synonyms[strings.ToLower(word)]; slices.Contains(known, meant) {
		return meant, true
	}
	return config.Nearest(word, known)
}
