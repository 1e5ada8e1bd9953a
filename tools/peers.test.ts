// Connections to peers are opened in few modules, each of which handles errors and time limits. An
// error event without a listener ends a process, and a peer that never answers holds a request for
// ever.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src');

/**
 * The modules that open connections, and how each handles errors. A new one belongs in
 * machinery/peer.
 */
const OPENS_CONNECTIONS: Readonly<Record<string, string>> = {
  'machinery/net/oidc/https-json.ts':
    'on(error) of the request and of the response; one timer for the whole exchange',
  'machinery/net/http2-socket.ts':
    'watchErrors before anything else; storage/etcd has timers for the dial, each call and pings',
  'machinery/net/peer/dial.ts': 'watchErrors before anything else; a timer for the dial',
  'machinery/net/peer/exchange.ts': 'watchErrors; timers for the head and for idleness',
  'machinery/streams/remotecommand/client.ts': 'the client of tests and tools',
  'apiserver/aggregator/proxy/connection-pool.ts':
    'overrides createConnection by the dial of machinery/net/peer',
  'apiserver/aggregator/proxy/pooled-exchange.ts':
    'on(error) of the request and of the response; the agent dials',
  'apiserver/webhooks/client/agent.ts':
    'overrides createConnection by the dial of machinery/net/peer',
  'apiserver/webhooks/client/send.ts':
    'on(error) of the request and of the response; the agent dials',
  'client/http/http-transport.ts': 'a listener from the dial on; then the exchange has its own',
  'client/http/http1-exchange.ts': 'on(error) of the request; the agent owns the sockets',
  'client/http/http2-exchange.ts': 'on(error) of the session and of each stream; pings',
  'cluster/api-workers/main-process.ts':
    'a socket pair to the main process; on(error) of the session and of each stream',
  'cluster/api-workers/worker.ts': 'socket pairs to the main process, whose end ends this process',
  'cluster/embedded/handle.ts': 'a connection inside the process; LocalConnections has on(error)',
  'cluster/embedded/local-agent.ts': 'the same; the agent and its requests have on(error)',
  'cluster/embedded/recording.ts':
    'a connection inside the process; on(error) of the request and of the response',
  'cluster/launch/pod-access.ts':
    'on(error) of both ends; the peer is the API server of the same process',
  'ingress/proxy/back-http1.ts': 'on(error) of each request, and a timer for its connection',
  'ingress/proxy/back-http2.ts':
    'on(error) of the session and of each stream, and a timer for the connection',
  'ingress/proxy/upgrade.ts': 'on(error) of both ends, and a timer for the connection',
  'kubelet/handlers/network.ts': 'on(error) and a deadline for each probe and hook',
  'proxy/userspace/tcp.ts': 'on(error) from the dial to the end; a timer for the dial',
  'runtime/process/runtime.ts': 'on(error) of the connection of a port-forward',
  'runtime/process/supervisor.ts': 'a pipe to a child process, with on(error)',
  'scheduler/extenders/post.ts': 'on(error) of the request, and its timeout',
  'storage/embedded/snapshot-socket.ts': 'a Unix socket to the same program',
};

const FUNCTIONS =
  'connect|createConnection|tcpConnect|tlsConnect|connectTcp|connectTls|httpRequest|httpsRequest';
const OPENS = new RegExp(
  [
    String.raw`(?<![\w.#])(?:net|tls|http|https|http2|)\.?(?:${FUNCTIONS})\(`,
    String.raw`(?<![\w.#])(?:http|https)\.request\b`,
    String.raw`(?<![\w.#])new Socket\(`,
  ].join('|'),
);
const IMPORTS = /^import (?!type )[^;]* from 'node:(?:net|tls|http|https|http2)'/m;

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (file) =>
    file.endsWith('.ts') && !/\.test\.ts$|\/testing\/|\/conformance\.ts$|test-pair/.test(file),
);

function* codeLines(file: string): Generator<readonly [line: string, place: string]> {
  const lines = readFileSync(join(source, file), 'utf8').split('\n');
  for (const [index, line] of lines.entries())
    if (!/^\s*(\/\/|\*|\/\*)/.test(line)) yield [line, `${file}:${index + 1}`];
}

test('connections to peers are opened only in modules that handle their errors', () => {
  const wrong: string[] = [];
  for (const file of files) {
    if (file in OPENS_CONNECTIONS || !IMPORTS.test(readFileSync(join(source, file), 'utf8')))
      continue;
    for (const [line, place] of codeLines(file)) {
      if (OPENS.test(line))
        wrong.push(`${place}: use dial and exchange of machinery/net/peer instead: ${line.trim()}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('the last error listener of a stream is never removed', () => {
  const wrong: string[] = [];
  for (const file of files) {
    for (const [line, place] of codeLines(file)) {
      if (/removeAllListeners\(\s*(?:['"]error['"]\s*)?\)/.test(line)) {
        wrong.push(
          `${place}: remove your own listener by its function, and leave another: ${line.trim()}`,
        );
      }
    }
  }
  expect(wrong).toEqual([]);
});

test('the list of modules is correct', () => {
  const known = files.map((file) => relative('.', file));
  expect(Object.keys(OPENS_CONNECTIONS).filter((file) => !known.includes(file))).toEqual([]);
});
