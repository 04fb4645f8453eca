--[[
Adds one report of a process to the last failed requests of a customer.

KEYS[1]  the failures (hash with expiry): by code of the error, or by status, lines with the latest first:
         at requestId status method keyId route
ARGV[1]  number of lines of a code that are kept, so that many failures of one kind hide no other
ARGV[2]  milliseconds to keep all of them after the last one
ARGV[3…] for each code: the code, and its lines
]]

for index = 3, #ARGV, 2 do
  local lines = {}
  local text = ARGV[index + 1] .. (redis.call('HGET', KEYS[1], ARGV[index]) or '')
  for at, line in string.gmatch(text, '(%d+)( [^\n]*)\n') do
    table.insert(lines, { at = tonumber(at), text = at .. line .. '\n' })
  end
  table.sort(lines, function(one, other)
    return one.at > other.at
  end)
  local kept = {}
  for place = 1, math.min(#lines, tonumber(ARGV[1])) do
    kept[place] = lines[place].text
  end
  redis.call('HSET', KEYS[1], ARGV[index], table.concat(kept))
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
