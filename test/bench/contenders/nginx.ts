import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** nginx counts requests in its own memory, without Redis: one worker, access log to a file, keep-alive to the upstream. */
export async function limitReq(directory: string, port: number, upstreamPort: number): Promise<string[]> {
  const prefix = join(directory, `nginx-${port}`);
  await mkdir(prefix, { recursive: true });
  const file = join(prefix, 'nginx.conf');
  await writeFile(
    file,
    `
daemon off; worker_processes 1; pid ${prefix}/nginx.pid; error_log stderr error;
events { worker_connections 8192; }
http {
  access_log ${prefix}/access.log;
  client_body_temp_path ${prefix}/body; proxy_temp_path ${prefix}/proxy; fastcgi_temp_path ${prefix}/fastcgi;
  uwsgi_temp_path ${prefix}/uwsgi; scgi_temp_path ${prefix}/scgi;
  keepalive_requests 1000000000;
  upstream pets { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 1000000000; }
  limit_req_zone $http_authorization zone=keys:10m rate=1000000r/s;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      limit_req zone=keys burst=1000000 nodelay;
      proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://pets;
    }
  }
}
`,
  );
  return ['-p', prefix, '-c', file];
}

/** The upstream of all contenders. Its responses are static, to keep its own work minimal. */
export async function upstream(directory: string, port: number): Promise<string[]> {
  const prefix = join(directory, 'upstream');
  await mkdir(prefix, { recursive: true });
  const file = join(prefix, 'nginx.conf');
  const pets =
    '[{"id":1,"name":"Rex","categoryId":1,"status":"available"},{"id":2,"name":"Mia","categoryId":2,"status":"available"}]';
  await writeFile(
    file,
    `
daemon off; worker_processes 1; pid ${prefix}/nginx.pid; error_log stderr error;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 1000000000; default_type application/json;
  client_body_temp_path ${prefix}/body; proxy_temp_path ${prefix}/proxy; fastcgi_temp_path ${prefix}/fastcgi;
  uwsgi_temp_path ${prefix}/uwsgi; scgi_temp_path ${prefix}/scgi;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /v1/pets { return 200 '${pets}'; }
    location = /readyz { return 200 '{}'; }
  }
}
`,
  );
  return ['-p', prefix, '-c', file];
}
