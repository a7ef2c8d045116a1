package workflow

// Word is the name of a step's state in the words of workflow schedulers (Hyperdrive's), for their users. attempt
// is 0 if the step has never begun; cause is the code of what became of it on an engine.
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
