package message

import (
	"strconv"

	"bellhop/scheduler"
)

// Roles: under these names actors are reached.
const (
	RoleSupervisor = "supervisor"
	RoleBell       = "bell"
	RoleMembership = "membership"
	RoleGate       = "gate"
	RoleDispatcher = "dispatcher"
	RoleLedger     = "ledger"
	RoleMSQs       = "msqs"
	RoleHosts      = "hosts"

	RoleMaintenance = "maintenance"
	RoleLocks       = "locks"
	RoleAttachments = "attachments"
	RoleSensors     = "sensors"
	RoleCourier     = "courier"
	RoleWatches     = "watches"
	RoleKeeper      = "keeper"
)

func RoleHost(h scheduler.HostName) string { return "host/" + string(h) }
func RoleMSQ(j scheduler.JobID) string     { return "msq/" + strconv.FormatInt(int64(j), 10) }
func RoleChild(h scheduler.HostName, c scheduler.ChildName) string {
	return "child/" + string(h) + "/" + string(c)
}
