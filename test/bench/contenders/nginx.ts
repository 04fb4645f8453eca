import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { windowNames } from '../../../gateway/limits/windows.ts';
import { defaultBanPolicy } from '../../../gateway/quota/policies.ts';
import { formatPolicies } from '../../../gateway/quota/redis-quota.ts';
import type { BenchEnvironment } from '../contenders.ts';

/** Arguments of consume.lua: limits that are never reached. */
const limits = windowNames
  .map((name) => (name === 'minute' || name === 'day' ? 999_999_999 : "''"))
  .join(', ');

const modules = /--modules-path=(\S+)/.exec(spawnSync('nginx', ['-V']).stderr?.toString() ?? '')?.[1] ?? '';

/** One worker, with all of its files in a directory of its own. @returns arguments of nginx */
async function writeConfig(prefix: string, http: string, main = ''): Promise<string[]> {
  await mkdir(prefix, { recursive: true });
  const file = join(prefix, 'nginx.conf');
  await writeFile(
    file,
    `${main}
daemon off; worker_processes 1; pid ${prefix}/nginx.pid; error_log stderr error;
events { worker_connections 8192; }
http {
  keepalive_requests 1000000000;
  client_body_temp_path ${prefix}/body; proxy_temp_path ${prefix}/proxy; fastcgi_temp_path ${prefix}/fastcgi;
  uwsgi_temp_path ${prefix}/uwsgi; scgi_temp_path ${prefix}/scgi;
  ${http}
}
`,
  );
  return ['-p', prefix, '-c', file];
}

/**
 * nginx with Lua: key hash, cached record, the gateway's own Redis script and rate limit headers, access log to a file,
 * keep-alive to the upstream. Kong and APISIX are built on the same parts and add their own cost.
 */
export function nginxWithLua(
  { directory, upstreamPort, redisPort, scriptSha }: BenchEnvironment,
  port: number,
): Promise<string[]> {
  const prefix = join(directory, `nginx-${port}`);
  const main = `load_module ${modules}/ndk_http_module.so; load_module ${modules}/ngx_http_lua_module.so;`;
  const http = `
  access_log ${prefix}/access.log;
  upstream pets { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 1000000000; }
  lua_shared_dict records 20m;
  init_by_lua_block {
    local ffi = require 'ffi'
    ffi.cdef 'unsigned char *SHA256(const unsigned char *d, size_t n, unsigned char *md);'
    local digest = ffi.new('unsigned char[32]')
    local hex = {}
    for byte = 0, 255 do hex[byte] = string.format('%02x', byte) end
    function sha256(text)
      ffi.C.SHA256(text, #text, digest)
      local parts = {}
      for index = 0, 31 do parts[index + 1] = hex[digest[index]] end
      return table.concat(parts)
    end
    function command(...)
      local parts = { '*', select('#', ...), '\\r\\n' }
      for index = 1, select('#', ...) do
        local argument = tostring((select(index, ...)))
        parts[#parts + 1] = '$' .. #argument .. '\\r\\n' .. argument .. '\\r\\n'
      end
      return table.concat(parts)
    end
    function redis(text)
      local socket = ngx.socket.tcp()
      socket:settimeout(1000)
      assert(socket:connect('127.0.0.1', ${redisPort}))
      assert(socket:send(text))
      local function read()
        local line = assert(socket:receive())
        local kind, rest = line:sub(1, 1), line:sub(2)
        if kind == '$' then return assert(socket:receive()) end
        if kind ~= '*' then return rest end
        local items = {}
        for index = 1, tonumber(rest) do items[index] = read() end
        return items
      end
      local reply = read()
      socket:setkeepalive(60000, 256)
      return reply
    end
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      access_by_lua_block {
        local header = ngx.var.http_authorization
        if not header then return ngx.exit(401) end
        local keyHash = sha256(header:sub(8))
        local record = ngx.shared.records:get(keyHash)
        if not record then
          local customer = redis(command('MGET', 'gw:key-customer:' .. keyHash))[1]
          if not customer then return ngx.exit(401) end
          record = customer .. ' ' .. redis(command('HMGET', 'gw:customer:{' .. customer .. '}', 'rev'))[1]
          ngx.shared.records:set(keyHash, record, 10)
        end
        local customer, rev = string.match(record, '^(%S+) (%d+)$')
        local tag = '{' .. customer .. '}'
        local reply = redis(command(
          'EVALSHA', '${scriptSha}', 4, 'gw:customer:' .. tag, 'gw:usage:' .. tag, 'gw:ban:' .. tag .. ':' .. keyHash,
          'gw:strikes:' .. tag .. ':' .. keyHash, ${formatPolicies(defaultBanPolicy)
            .map((value) => `'${value}'`)
            .join(', ')}, rev, '', ${limits}
        ))
        local outcome, now, used, leftMs = string.match(reply, '^%[%[(%d+),(%d+),%d+,(%d+),(%d+)')
        if outcome ~= '1' then
          ngx.header['Retry-After'] = 60
          return ngx.exit(429)
        end
        ngx.header['X-RateLimit-Limit'] = 999999999
        ngx.header['X-RateLimit-Remaining'] = 999999999 - tonumber(used)
        ngx.header['X-RateLimit-Reset'] = math.ceil((tonumber(now) + tonumber(leftMs)) / 1000)
      }
      proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://pets;
    }
  }`;
  return writeConfig(prefix, http, main);
}

const pets =
  '[{"id":1,"name":"Rex","categoryId":1,"status":"available"},{"id":2,"name":"Mia","categoryId":2,"status":"available"}]';

/** The upstream of all contenders. Its responses are static, to keep its own work minimal. */
export const upstream = (directory: string, port: number): Promise<string[]> =>
  writeConfig(
    join(directory, 'upstream'),
    `access_log off; default_type application/json;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /v1/pets { return 200 '${pets}'; }
    location = /readyz { return 200 '{}'; }
  }`,
  );
