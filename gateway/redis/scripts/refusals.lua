--[[
Put before add-usage-2.lua, after clock.lua.

The last refusals of a key are one string with expiry, gw:refusals:{<key hash>}. It has a line for each run of refused
requests, the newest first:
  from to refused reason
From and to are Unix milliseconds; the reason is minute, day or ban. Reports of all processes are joined into the same runs, so
that their number does not grow with that of the processes.
]]

-- At most some 2.5 kB a key.
local maxRuns = 50
-- A client that uses up each minute is refused in every minute: that is one run.
local maxGapMs = 120000
local maxRunMs = 3600000
local keptSeconds = 7 * 86400

-- Leaves out lines that were edited by hand into anything else.
local function parseRuns(text)
  local runs = {}
  for from, to, refused, reason in string.gmatch(text, '(%d+) (%d+) (%d+) (%l+)\n') do
    local run = { from = wholeNumber(from), to = wholeNumber(to), refused = wholeNumber(refused), reason = reason }
    if run.from > 0 and run.to >= run.from and run.refused > 0 then
      table.insert(runs, run)
    end
  end
  return runs
end

local function formatRuns(runs)
  local lines = {}
  for index = 1, math.min(#runs, maxRuns) do
    local run = runs[index]
    lines[index] = string.format('%.0f %.0f %.0f %s\n', run.from, run.to, run.refused, run.reason)
  end
  return table.concat(lines)
end

local function belongTogether(one, other)
  return one.reason == other.reason
    and math.max(one.from, other.from) - math.min(one.to, other.to) <= maxGapMs
    and math.max(one.to, other.to) - math.min(one.from, other.from) <= maxRunMs
end

local function addRun(runs, added)
  for _, run in ipairs(runs) do
    if belongTogether(run, added) then
      run.from = math.min(run.from, added.from)
      run.to = math.max(run.to, added.to)
      run.refused = run.refused + added.refused
      return
    end
  end
  table.insert(runs, added)
end

-- Adds runs, which are lines as the record has them.
local function recordRefusals(keyTag, text)
  local key = 'gw:refusals:' .. keyTag
  local stored = redis.pcall('GET', key)
  -- A value that was edited into another type is overwritten.
  local runs = parseRuns(type(stored) == 'string' and stored or '')
  for _, added in ipairs(parseRuns(text)) do
    addRun(runs, added)
  end
  -- A report may be late, so that its runs are not the newest ones.
  table.sort(runs, function(one, other)
    return one.to > other.to
  end)
  redis.call('SET', key, formatRuns(runs), 'EX', keptSeconds)
end
