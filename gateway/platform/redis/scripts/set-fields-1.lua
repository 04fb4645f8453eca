-- include: fields.lua
--[[
Sets fields of a hash of settings, unless it was changed since it was read.

KEYS[1]  the hash
ARGV[1]  number of fields that are expected in it
ARGV[2…] the expected fields, as pairs of field and value; then the fields to set, as pairs; an empty value removes the field

Returns 1, or 0 if the hash was changed in between and nothing was written.
]]

local lastExpected = 1 + 2 * tonumber(ARGV[1])
if not hasFields(KEYS[1], ARGV, 2, lastExpected) then
  return 0
end
writeFields(KEYS[1], ARGV, lastExpected + 1, #ARGV)
return 1
