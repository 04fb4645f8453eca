-- include: fields.lua
--[[
Writes several hashes of settings and the set of plan names, or nothing if one of the hashes was changed since it was read.

KEYS[1]  the set of plan names
KEYS[2…] the hashes
ARGV     lists, each of them after its length: names to add, names to remove; then for each hash the fields that are
         expected in it, and those to write, both as field and value by turns; an empty value removes the field

Returns 1, or 0 if a hash was changed in between and nothing was written.
]]

local position = 0

local function nextArgument()
  position = position + 1
  return ARGV[position]
end

local function nextList()
  local list = {}
  for index = 1, tonumber(nextArgument()) do
    list[index] = nextArgument()
  end
  return list
end

local added, removed, written = nextList(), nextList(), {}

for index = 2, #KEYS do
  local expected = nextList()
  written[index] = nextList()
  if not hasFields(KEYS[index], expected, 1, #expected) then
    return 0
  end
end

for _, name in ipairs(added) do
  redis.call('SADD', KEYS[1], name)
end
for _, name in ipairs(removed) do
  redis.call('SREM', KEYS[1], name)
end
for index = 2, #KEYS do
  writeFields(KEYS[index], written[index], 1, #written[index])
end
return 1
