-- include: usage.lua
--[[
Reads the records of a customer's use in some months, with the days that were not rolled up yet. Writes nothing.

KEYS  records of the months (hashes, described in usage.lua), all of the same customer

Returns pairs of field and value for each month. A month that was recorded while Redis
had lost the record of the customer has its present id, name and plan.
]]

local today = dayNumberOf(nowMs())

local function readMonth(key)
  local customerTag, month = customerTagOf(key), string.sub(key, -6)
  local pairsOfMonth = redis.call('HGETALL', key)
  -- Today and yesterday may have been counted by a version that kept no record.
  local unrolled = { [utcDate(today)] = true, [utcDate(today - 1)] = true }
  local fields = {}
  for index = 1, #pairsOfMonth, 2 do
    fields[pairsOfMonth[index]] = pairsOfMonth[index + 1]
    if pairsOfMonth[index] == 'open' then
      unrolled[month .. pairsOfMonth[index + 1]] = true
    end
  end
  for date in pairs(unrolled) do
    local day = string.sub(date, 7)
    if string.sub(date, 1, 6) == month and not fields[day] then
      local served = wholeNumber(redis.call('GET', dayCounter(customerTag, date))) + wholeNumber(fields['g' .. day])
      if served > 0 then
        table.insert(pairsOfMonth, day)
        table.insert(pairsOfMonth, string.format('%.0f', served))
      end
    end
  end
  if #pairsOfMonth > 0 and not fields.plan then
    local record = redis.call('HMGET', 'gw:customer:' .. customerTag, 'id', 'name', 'plan')
    for index, field in ipairs({ 'id', 'name', 'p01' }) do
      if record[index] then
        table.insert(pairsOfMonth, field)
        table.insert(pairsOfMonth, record[index])
      end
    end
  end
  return pairsOfMonth
end

local months = {}
for index, key in ipairs(KEYS) do
  months[index] = readMonth(key)
end
return months
