package workflow

// Word is what a step's state is called in the words of schedulers of workflows
// (Hyperdrive's), so that who comes from there knows what is meant. attempt is 0 where
// the step has never begun; cause is the code of what became of it on an engine.
func Word(state string, attempt int, endedAs, cause string) string {
	switch state {
	case "held", "blocked", "scheduled", "ready":
		return "InQueue"
	case "assigned":
		return "Submitting"
	case "running":
		return "Running"
	case "succeeded":
		switch endedAs {
		case "no_data":
			return "No Data"
		case "skipped":
			return "Skipped"
		}
		return "Succeeded"
	case "failed":
		switch {
		case attempt == 0:
			return "FailedPreviousJob"
		case cause == "submission_timeout":
			return "Submission timeout"
		case cause == "engine_lost":
			return "Lost"
		}
		return "Failed"
	case "cancelled":
		return "Killed"
	case "quarantined":
		return "Lost"
	}
	return ""
}
