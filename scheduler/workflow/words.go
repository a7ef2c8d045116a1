package workflow

// Word is what a step's state is called in the words of schedulers of workflows
// (Hyperdrive's), so that who comes from there knows what is meant. attempt is 0 where
// the step has never begun.
func Word(state string, attempt int) string {
	switch state {
	case "held", "blocked", "scheduled", "ready":
		return "InQueue"
	case "assigned":
		return "Submitting"
	case "running":
		return "Running"
	case "succeeded":
		return "Succeeded"
	case "failed":
		if attempt == 0 {
			return "FailedPreviousJob"
		}
		return "Failed"
	case "cancelled":
		return "Killed"
	case "quarantined":
		return "Lost"
	}
	return ""
}
