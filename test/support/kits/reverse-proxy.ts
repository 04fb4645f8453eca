import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../http/free-port.ts';
import { end, outputOf, untilListening } from '../programs.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { together } from './together.ts';

export type ProxyName = 'nginx' | 'haproxy';

const nginxConfig = (directory: string, port: number, upstreamPort: number, normalizes: boolean) => `
daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log ${directory}/error.log;
events { worker_connections 512; }
http {
  log_format targets '$request_uri';
  access_log ${directory}/access.log targets;
  client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy; fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi; scgi_temp_path ${directory}/scgi;
  keepalive_timeout 1s; client_header_timeout 1s; client_body_timeout 1s; underscores_in_headers on;
  upstream gateway { server 127.0.0.1:${upstreamPort}; keepalive 1; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_http_version 1.1; proxy_set_header Connection ""; proxy_request_buffering off; proxy_pass http://gateway${normalizes ? '/' : ''}; }
  }
}
`;

const haproxyNormalizers = [
  'percent-decode-unreserved',
  'path-strip-dot',
  'path-strip-dotdot',
  'path-merge-slashes',
];

const haproxyConfig = (_directory: string, port: number, upstreamPort: number, normalizes: boolean) => `
global
  ${normalizes ? 'expose-experimental-directives' : ''}
  log stdout format raw local0
defaults
  mode http
  log global
  log-format "%HU"
  timeout connect 2s
  timeout client 1s
  timeout server 10s
  timeout http-request 1s
  timeout http-keep-alive 1s
  http-reuse always
frontend clients
  bind 127.0.0.1:${port}
  ${normalizes ? haproxyNormalizers.map((name) => `http-request normalize-uri ${name}\n`).join('  ') : ''}
  default_backend gateway
backend gateway
  server gateway 127.0.0.1:${upstreamPort} pool-max-conn 1
`;

/**
 * @param upstreamPort of the service behind it
 * @param options.normalizes whether the service gets paths as the proxy reads them, and not as they were sent
 */
export const startReverseProxy = (name: ProxyName, upstreamPort: number, { normalizes = false } = {}) =>
  together(async (stack) => {
    const { path } = stack.use(await temporaryDirectory());
    const port = await freePort();
    const config = join(path, `${name}.conf`);
    const makeConfig = name === 'nginx' ? nginxConfig : haproxyConfig;
    await writeFile(config, makeConfig(path, port, upstreamPort, normalizes));
    const args = name === 'nginx' ? ['-p', path, '-c', config] : ['-f', config];
    const child = spawn(name, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    stack.defer(() => end(child));
    const output = outputOf(child);
    await untilListening(child, port);
    return {
      port,
      url: `http://127.0.0.1:${port}`,
      /** Its log: a line with the target of each request that it has seen. */
      log: async () => (name === 'nginx' ? readFile(join(path, 'access.log'), 'latin1') : output()),
    };
  });
