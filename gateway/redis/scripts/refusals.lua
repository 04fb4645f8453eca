-- include: clock.lua
--[[
The last refusals of a customer are one string with expiry, gw:refusals:{<customer id>}. It has a line for each run of refused
requests, the one with the latest end first:
  from to refused reason
From and to are Unix milliseconds; the reason is minute, day or ban. Reports of all processes are joined into the same runs,
so that their number does not grow with that of the processes.
]]

-- At least 50 lines.
local maxBytes = 2560
-- A client that uses up each minute is refused in every minute: that is one run.
local maxGapMs = 120000
local maxRunMs = 3600000
local keptSeconds = 7 * 86400

local linePattern = '^(%d+) (%d+) (%d+) (%l+)\n'

-- Returns the run in the line that begins at a position, and the position of the next line; nil for the end, and for a line
-- that was edited by hand into anything else.
local function readRun(text, position)
  local _, last, from, to, refused, reason = string.find(text, linePattern, position)
  if not last then
    return nil
  end
  return { from = wholeNumber(from), to = wholeNumber(to), refused = wholeNumber(refused), reason = reason }, last + 1
end

local function belongTogether(one, other)
  return one.reason == other.reason
    and math.max(one.from, other.from) - math.min(one.to, other.to) <= maxGapMs
    and math.max(one.to, other.to) - math.min(one.from, other.from) <= maxRunMs
end

-- Adds a run to a text of runs. Parses only the lines that it may join or come after: fifty would take Redis a millisecond.
local function addRun(text, added)
  local newer, position = {}, 1
  while true do
    local run, nextPosition = readRun(text, position)
    if not run then
      -- What comes after a line that was edited by hand is dropped.
      text, position = '', 1
      break
    elseif run.to < added.from - maxGapMs then
      break
    elseif belongTogether(run, added) then
      added.from = math.min(run.from, added.from)
      added.to = math.max(run.to, added.to)
      added.refused = run.refused + added.refused
    else
      table.insert(newer, run)
    end
    position = nextPosition
  end
  local place = 1
  while newer[place] and newer[place].to > added.to do
    place = place + 1
  end
  table.insert(newer, place, added)
  for index, run in ipairs(newer) do
    newer[index] = string.format('%.0f %.0f %.0f %s\n', run.from, run.to, run.refused, run.reason)
  end
  return table.concat(newer) .. string.sub(text, position)
end

-- Adds runs, which are lines as the record has them.
local function recordRefusals(customerTag, lines)
  local key = 'gw:refusals:' .. customerTag
  local text = redis.pcall('GET', key)
  if type(text) ~= 'string' then
    -- There are none, or the value was edited into another type and is overwritten.
    text = ''
  end
  local run, position = readRun(lines, 1)
  while run do
    text = addRun(text, run)
    run, position = readRun(lines, position)
  end
  if #text > maxBytes then
    text = string.match(string.sub(text, 1, maxBytes), '^.*\n') or ''
  end
  redis.call('SET', key, text, 'EX', keptSeconds)
end
