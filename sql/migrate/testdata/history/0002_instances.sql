-- Who schedules. Everything that compares times between machines does it here,
-- on the database's clock.

create table bellhop.instance (
  id            bigint generated always as identity primary key,
  name          text        not null,
  hostname      text        not null,
  -- Which machine (boot and pid namespace) and which process: the same pid
  -- with another start time is somebody else.
  machine       text        not null,
  pid           integer     not null,
  process_start text        not null,
  version       text        not null,
  lag           interval    not null,
  state         text        not null default 'live' check (state in ('live', 'gone')),
  started_at    timestamptz not null default clock_timestamp(),
  heartbeat_at  timestamptz not null default clock_timestamp(),
  gone_at       timestamptz,
  gone_because  text
);
create index instance_live on bellhop.instance (id) where state = 'live';

-- What each live instance can run, from its configuration file.
create table bellhop.host (
  instance bigint  not null references bellhop.instance on delete cascade,
  name     text    not null,
  slots    integer not null,
  serves   text[]  not null default '{}',
  primary key (instance, name)
);
create table bellhop.agent (
  instance     bigint  not null references bellhop.instance on delete cascade,
  type         text    not null,
  mode         text    not null,
  dialect      text    not null,
  command      text    not null,
  max          integer not null,
  max_per_host integer not null,
  -- Why no child of this type comes up on a host: {"local": "…"}; empty when all is well.
  trouble      jsonb   not null default '{}',
  primary key (instance, type)
);

-- The children as their instance last told. Lost in a crash of the database
-- and told again with the next beat: hence unlogged.
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
