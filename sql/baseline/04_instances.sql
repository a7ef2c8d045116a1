-- The instances, and what each tells of itself. All times of different machines are compared here, on the database's clock.

create table bellhop.instance (
  id             bigint      generated always as identity primary key,
  name           text        not null,
  hostname       text        not null,
  -- The machine (boot and pid namespace) and the process: the same pid with another start time is another process.
  machine        text        not null,
  pid            integer     not null,
  process_start  text        not null,
  version        text        not null,
  lag            interval    not null,
  state          text        not null default 'live' check (state in ('live', 'gone')),
  started_at     timestamptz not null default clock_timestamp(),
  heartbeat_at   timestamptz not null default clock_timestamp(),
  gone_at        timestamptz,
  gone_because   text,
  stop           text        check (stop in ('finish', 'now')), -- an order to shut down
  paused         text[]      not null default '{}', -- types of bellhop.paused; here, since every claim reads this row
  queries        integer,                           -- MSQ jobs that it reads at once; NULL: not told
  looked         xid8,                              -- transactions below this were over when the last look at the queue began
  looked_at      timestamptz,
  draining_since timestamptz,                       -- since then it starts only a waiting job of an exclusive type
  policy         jsonb,                             -- of locks, under the names of the configuration; NULL: not told
  tells          text[]      not null default '{}', -- channels that it can send by: mail, webhook, command:NAME, command:* (any)
  watches        jsonb,                             -- sources for sensors: {"notify": true, "files": ["/srv/in"], "kafka": ["main"]}
  reloaded_at    timestamptz,                       -- of its configuration; NULL: not since it began
  reload_failed  boolean     not null default false,
  reload_said    text,
  listen         text                               -- address of its HTTP server, for `bellhop ui` and `ready`; NULL: none
);
create index instance_live on bellhop.instance (id) where state = 'live';

-- The hosts of each live instance, from its configuration file.
create table bellhop.host (
  instance        bigint      not null references bellhop.instance on delete cascade,
  name            text        not null,
  slots           integer     not null,
  serves          text[]      not null default '{}',
  state           text        not null default 'up' check (state in ('up', 'connecting', 'down')), -- its own machine: always up
  trouble         text,                                  -- the cause of down: a code, a colon, words
  state_since     timestamptz not null default clock_timestamp(),
  far             boolean     not null default false,    -- not its instance's own machine
  -- Jobs that it takes; NULL: all. A priority_name must match only_names, or the priority be one of only_priorities.
  only_types      text[],
  only_priorities integer[],
  only_names      text,                                  -- a regular expression
  only_rjm        text,                                  -- a regular expression for the types of RJM's jobs
  primary key (instance, name)
);

-- The agents of each live instance, from the same file.
create table bellhop.agent (
  instance     bigint  not null references bellhop.instance on delete cascade,
  type         text    not null,
  mode         text    not null,
  dialect      text    not null,
  command      text    not null,
  max          integer not null,
  max_per_host integer not null,
  trouble      jsonb   not null default '{}',  -- why no child comes up, by host: {"local": "…"}
  local        boolean not null default false, -- on hosts that are not far
  exclusive    boolean not null default false, -- nothing else runs on the instance beside it
  -- By host, why the last child died, and since when none has proved itself: {"local": {"at": …, "deaths": 2, "why": …}}.
  deaths       jsonb   not null default '{}',
  attempts     integer not null default 1,     -- of jobs without a number of their own
  locks        text[]  not null default '{}',  -- templates, of locks that all jobs of the type need
  primary key (instance, type)
);

-- The last words of agents that do not come up, by host: for operators alone.
create table bellhop.agent_words (
  instance bigint not null references bellhop.instance on delete cascade,
  type     text   not null,
  words    jsonb  not null default '{}',
  primary key (instance, type)
);

-- Unlogged tables are empty after a crash of the database. Instances tell the contents of these again.

-- The children, as their instance last told, with each heartbeat.
create unlogged table bellhop.child (
  instance bigint      not null,
  host     text        not null,
  name     text        not null,
  type     text        not null,
  state    text        not null,
  pid      integer,
  job      bigint,
  since    timestamptz not null,
  done     bigint      not null default 0,
  deaths   bigint      not null default 0,
  primary key (instance, host, name)
);

-- Instances that have told what they run since the last crash, which can undo claims: these are committed asynchronously.
-- So an instance without a row may run jobs whose rows say 'ready'. All claims wait until it has taken those again.
create unlogged table bellhop.asserted (
  instance bigint primary key
);

-- Hosts of locality keys that jobs wait for, by the user's own query (`locate`).
create unlogged table bellhop.located (
  instance bigint      not null,
  key      text        not null,
  hosts    text[]      not null,
  error    text,
  at       timestamptz not null default clock_timestamp(),
  primary key (instance, key)
);

-- Types that are paused; the empty name: all.
create table bellhop.paused (
  type      text        primary key,
  paused_at timestamptz not null default clock_timestamp(),
  paused_by text        not null default session_user
);
