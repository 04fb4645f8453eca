-- For scripts that count time and requests, so that all do so in the same way.

-- Unix milliseconds by this server's clock, so that the gateways' clocks do not matter.
local function nowMs()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Days since 1 January 1970.
local function dayNumberOf(ms)
  return math.floor(ms / 86400000)
end

-- The civil date of a day number as YYYYMMDD, counted from 1 March so that the leap day comes last (proleptic Gregorian).
local function utcDate(dayNumber)
  local shifted = dayNumber + 719468
  local era = math.floor(shifted / 146097)
  local dayOfEra = shifted - era * 146097
  local yearOfEra = math.floor(
    (dayOfEra - math.floor(dayOfEra / 1460) + math.floor(dayOfEra / 36524) - math.floor(dayOfEra / 146096)) / 365
  )
  local dayOfYear = dayOfEra - (365 * yearOfEra + math.floor(yearOfEra / 4) - math.floor(yearOfEra / 100))
  local monthIndex = math.floor((5 * dayOfYear + 2) / 153)
  local dayOfMonth = dayOfYear - math.floor((153 * monthIndex + 2) / 5) + 1
  local month = monthIndex < 10 and monthIndex + 3 or monthIndex - 9
  local year = yearOfEra + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d%02d%02d', year, month, dayOfMonth)
end

-- Anything but a whole number counts as 0, and is overwritten. Lua's tonumber would also accept 'inf', 'nan' and '-3'.
local function wholeNumber(value)
  if value and #value <= 15 and string.find(value, '^[1-9]%d*$') then
    return tonumber(value)
  end
  return 0
end

-- A whole number as text. Lua itself writes large ones with an exponent.
local function wholeText(number)
  return string.format('%.0f', number)
end
