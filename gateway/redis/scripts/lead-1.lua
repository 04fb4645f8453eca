--[[
Makes a process the leader, or lets it go on as such.

KEYS[1]  id of the leader (string with expiry)
ARGV[1]  id of the process
ARGV[2]  ms after which another process can become the leader

Returns 1 if the process leads, or 0 if another one does.
]]

local leader = redis.call('GET', KEYS[1])
if leader and leader ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
