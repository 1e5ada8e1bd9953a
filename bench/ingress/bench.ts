// Measures the reverse proxy beside a bare proxy of Node's own modules, and beside nginx if
// `NGINX_BINARY` names it: requests per second and the 99th percentile of 64 connections of wrk, in
// turns. Measures the time of one routing decision with many routes, too.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findProgram } from '#cluster/machine/install.ts';
import { Router } from '#ingress/routing/router.ts';
import { World } from '#ingress/testing/world.ts';
import { endedWithRun, temporaryDirectory } from '../clean-up.ts';
import { heading, median, note, show } from '../report.ts';

const ROUNDS = Number(process.env['ROUNDS'] ?? 3);
const SECONDS = 4;
const CONNECTIONS = 64;
const NGINX_PORT = 23_899;
const ROUTES = 2000;

interface Load {
  readonly perSecond: number;
  readonly p99Ms: number;
}

async function start(
  role: string,
  ...args: readonly string[]
): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const file = fileURLToPath(new URL('server-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', file, role, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endedWithRun(child);
  const [text] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, port: Number(text) };
}

function startNginx(dir: string, binary: string, backend: number): ChildProcess {
  mkdirSync(join(dir, 'logs'));
  writeFileSync(
    join(dir, 'nginx.conf'),
    `worker_processes 1; daemon off; pid ${dir}/pid; error_log ${dir}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${dir}/b; proxy_temp_path ${dir}/p; fastcgi_temp_path ${dir}/f;
  uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
  upstream back { server 127.0.0.1:${backend}; keepalive 64; }
  server {
    listen 127.0.0.1:${NGINX_PORT};
    location / { proxy_pass http://back; proxy_http_version 1.1; proxy_set_header Connection ''; }
  }
}`,
  );
  return endedWithRun(
    spawn(binary, ['-p', dir, '-c', join(dir, 'nginx.conf')], {
      stdio: ['ignore', 'inherit', 'inherit'],
    }),
  );
}

function load(port: number): Load {
  const args = [
    '-t1',
    `-c${CONNECTIONS}`,
    `-d${SECONDS}s`,
    '--latency',
    `http://127.0.0.1:${port}/`,
  ];
  const { stdout } = spawnSync('wrk', args, { encoding: 'utf8' });
  if (/Non-2xx|Socket errors/.test(stdout)) note(stdout.trim().split('\n').at(-3) ?? '');
  const [, value = '', unit] = /99%\s+([\d.]+)(us|ms|s)/.exec(stdout) ?? [];
  const factor = unit === 's' ? 1000 : unit === 'us' ? 0.001 : 1;
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p99Ms: Number(value) * factor,
  };
}

export async function ingress(): Promise<void> {
  heading('ingress');
  decision();
  if (findProgram('wrk') === undefined)
    return note('requests are not measured: wrk is not installed (apt-get install wrk)');
  const dir = temporaryDirectory('ingress-bench-');
  const backend = await start('backend');
  const ours = await start('proxy', String(backend.port));
  const bare = await start('bare', String(backend.port));
  const nginx = process.env['NGINX_BINARY'];
  const nginxProcess = nginx === undefined ? undefined : startNginx(dir, nginx, backend.port);
  const ports = new Map([
    ['the back end itself', backend.port],
    ['bare node:http proxy', bare.port],
    ['ours', ours.port],
    ...(nginx === undefined ? [] : ([['nginx, one worker', NGINX_PORT]] as const)),
  ]);
  try {
    const results = new Map<string, Load[]>();
    for (const port of ports.values()) load(port);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, port] of ports)
        results.set(name, [...(results.get(name) ?? []), load(port)]);
    }
    for (const [name, loads] of results) {
      show({
        what: `${name}: requests`,
        unit: '/s',
        values: loads.map(({ perSecond }) => perSecond),
      });
      note(`p99 ${median(loads.map(({ p99Ms }) => p99Ms)).toFixed(1)} ms`);
    }
  } finally {
    nginxProcess?.kill();
    for (const { child } of [bare, ours, backend]) child.kill();
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * Measures one decision with many HTTPRoutes of one Gateway, and with many Ingresses, each with its
 * own hostname.
 */
function decision(): void {
  const route = (index: number): string => `
kind: HTTPRoute
metadata: { name: r${index} }
spec:
  parentRefs: [{ name: gw }]
  hostnames: [h${index}.example]
  rules: [{ backendRefs: [{ name: web, port: 80 }] }]
---`;
  const ingressOf = (index: number): string => `
kind: Ingress
metadata: { name: i${index} }
spec:
  ingressClassName: coxswain
  rules:
    - host: h${index}.example
      http: { paths: [{ path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }] }
---`;
  const gateway = `
kind: Gateway
metadata: { name: gw }
spec: { gatewayClassName: coxswain, listeners: [{ name: http, port: 80, protocol: HTTP }] }
---`;
  const many = (object: (index: number) => string): string =>
    Array.from({ length: ROUTES }, (_, i) => object(i)).join('');
  for (const [what, yaml] of [
    ['HTTPRoutes', gateway + many(route)],
    ['Ingresses', many(ingressOf)],
  ] as const) {
    const world = new World(yaml);
    const values = Array.from({ length: 12 }, () => {
      const before = process.cpuUsage();
      for (const server of world.decide().configuration.servers) void new Router(server);
      return process.cpuUsage(before).user / 1000;
    });
    // The first rounds run before the code is compiled.
    show({
      what: `one decision with ${ROUTES} ${what}`,
      unit: 'ms of CPU',
      values: values.slice(5),
      goal: { atMost: 50 },
    });
  }
}
